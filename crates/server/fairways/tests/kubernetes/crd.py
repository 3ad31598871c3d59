"""Checks objects against the schemas of their custom resource definitions, unknown fields included:
crd.py DEFINITIONS... -- OBJECTS.json"""

import json
import sys

import jsonschema
import yaml


def close(schema):
    """Refuses fields that the schema does not name, as the API server does with --validate=strict."""
    if isinstance(schema, dict):
        if "properties" in schema and not schema.get("x-kubernetes-preserve-unknown-fields"):
            schema.setdefault("additionalProperties", False)
        for value in schema.values():
            close(value)
    elif isinstance(schema, list):
        for value in schema:
            close(value)
    return schema


split = sys.argv.index("--")
schemas = {}
for file in sys.argv[1:split]:
    for definition in yaml.safe_load_all(open(file, encoding="utf-8")):
        spec = definition["spec"]
        for version in spec["versions"]:
            schema = close(version["schema"]["openAPIV3Schema"])
            schemas[f"{spec['group']}/{version['name']}", spec["names"]["kind"]] = schema
for document in json.load(open(sys.argv[split + 1], encoding="utf-8")):
    schema = schemas[document["apiVersion"], document["kind"]]
    for error in jsonschema.Draft202012Validator(schema).iter_errors(document):
        path = ".".join(str(part) for part in error.absolute_path)
        sys.exit(f"{document['kind']} {document['metadata']['name']}: {path}: {error.message}")
