"""Prints as JSON what YAML documents or a Containerfile say: read.py yaml|containerfile FILE..."""

import json
import sys

kind, files = sys.argv[1], sys.argv[2:]
if kind == "yaml":
    import yaml

    documents = [document for file in files for document in yaml.safe_load_all(open(file, encoding="utf-8"))]
    print(json.dumps(documents))
else:
    from dockerfile_parse import DockerfileParser

    steps = [step for file in files for step in DockerfileParser(fileobj=open(file, "rb")).structure]
    print(json.dumps([{"instruction": step["instruction"], "value": step["value"]} for step in steps]))
