{{- define "fairways.labels" -}}
app.kubernetes.io/name: fairways
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* The egress rules for the latency sources of the programs, each once. A source in the pod
itself, a file and a socket need none. A name is any address at that port, and asks for DNS. */}}
{{- define "fairways.latencies" -}}
{{- $addresses := list }}
{{- $ports := list }}
{{- range .Values.programs }}
{{- $source := .latency | default "" }}
{{- $server := "^(openmetrics:http://|redis:)(\\[[^]]*\\]|[^]/:#?]+)(:([0-9]+))?([/#?].*)?$" }}
{{- if regexMatch "^(file:|socket:|redis:/|$)" $source }}
{{- else if or (not (regexMatch $server $source)) (regexMatch "^redis:[^:]*$" $source) }}
{{- fail (printf "latency %q of program %q: expected HOST:PORT, an IPv6 address in brackets" $source .name) }}
{{- else }}
{{- $host := regexReplaceAll $server $source "$2" }}
{{- $port := regexReplaceAll $server $source "$4" | default "80" }}
{{- if regexMatch "^(127\\..*|localhost|\\[::1\\])$" $host }}
{{- else if hasPrefix "[" $host }}
{{- $addresses = append $addresses (printf "%s/128 %s" (trimAll "[]" $host) $port) }}
{{- else if regexMatch "^[0-9.]+$" $host }}
{{- $addresses = append $addresses (printf "%s/32 %s" $host $port) }}
{{- else }}
{{- $ports = append $ports $port }}
{{- end }}
{{- end }}
{{- end }}
{{- range uniq $addresses }}
- to:
    - ipBlock:
        cidr: {{ splitList " " . | first | quote }}
  ports:
    - port: {{ splitList " " . | last }}
      protocol: TCP
{{- end }}
{{- range uniq $ports }}
- ports:
    - port: {{ . }}
      protocol: TCP
{{- end }}
{{- if $ports }}
- ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
{{- end }}
{{- end }}
