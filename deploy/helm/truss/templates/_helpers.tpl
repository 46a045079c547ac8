{{- define "truss.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}-truss
{{- end -}}

{{- define "truss.image" -}}
{{- .Values.image.repository -}}:{{- .Values.image.tag | default .Chart.AppVersion -}}
{{- end -}}

{{/* Labels that choose the pods of one part; they never change. */}}
{{- define "truss.selector" -}}
app.kubernetes.io/name: truss
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end -}}

{{- define "truss.labels" -}}
{{ include "truss.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end -}}

{{/* The pod's and the container's security, the same for every part. */}}
{{- define "truss.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "truss.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{/* Connections, by part: names and URLs as they are, passwords as files. */}}
{{- define "truss.connections" -}}
{{- $values := .root.Values -}}
- { name: TRUSS_BROKERS, value: {{ join "," $values.kafka.brokers | quote }} }
- { name: TRUSS_REGISTRY, value: {{ $values.registry.url | quote }} }
- { name: TRUSS_REDIS, value: {{ $values.redis.url | quote }} }
- { name: TRUSS_PREFIX, value: {{ $values.prefix | quote }} }
- { name: TRUSS_PARTITIONS, value: {{ $values.topics.partitions | quote }} }
- { name: TRUSS_REPLICATION, value: {{ $values.topics.replication | quote }} }
- { name: TRUSS_MIN_INSYNC_REPLICAS, value: {{ $values.topics.minInsyncReplicas | quote }} }
- { name: TRUSS_LOG_LEVEL, value: {{ $values.logLevel }} }
{{- if kindIs "bool" $values.kafka.tls }}
- { name: TRUSS_KAFKA_TLS, value: {{ $values.kafka.tls | quote }} }
{{- end }}
{{- if $values.ca.secret }}
- { name: TRUSS_TLS_CA_FILE, value: /etc/truss/ca/ca.pem }
{{- end }}
{{- if $values.otlp.endpoint }}
- { name: TRUSS_OTLP_ENDPOINT, value: {{ $values.otlp.endpoint | quote }} }
{{- end }}
{{- if $values.kafka.mechanism }}
- { name: TRUSS_KAFKA_SASL_MECHANISM, value: {{ $values.kafka.mechanism }} }
{{- end }}
{{- range $system, $names := dict "kafka" "TRUSS_KAFKA_SASL" "registry" "TRUSS_REGISTRY" "redis" "TRUSS_REDIS" }}
{{- with index $.credentials $system }}
{{- if .secret }}
- name: {{ $names }}_USERNAME
  valueFrom: { secretKeyRef: { name: {{ .secret }}, key: {{ .usernameKey }} } }
- { name: {{ $names }}_PASSWORD_FILE, value: /etc/truss/{{ $system }}/password }
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "truss.connectionMounts" -}}
- { name: scratch, mountPath: /tmp }
{{- if .root.Values.ca.secret }}
- { name: ca, mountPath: /etc/truss/ca, readOnly: true }
{{- end }}
{{- range $system := list "kafka" "registry" "redis" }}
{{- if (index $.credentials $system).secret }}
- { name: {{ $system }}, mountPath: /etc/truss/{{ $system }}, readOnly: true }
{{- end }}
{{- end }}
{{- end -}}

{{- define "truss.connectionVolumes" -}}
- name: scratch
  emptyDir: { sizeLimit: {{ .scratch }} }
{{- with .root.Values.ca }}
{{- if .secret }}
- name: ca
  secret: { secretName: {{ .secret }}, items: [{ key: {{ .key }}, path: ca.pem }] }
{{- end }}
{{- end }}
{{- range $system := list "kafka" "registry" "redis" }}
{{- with index $.credentials $system }}
{{- if .secret }}
- name: {{ $system }}
  secret: { secretName: {{ .secret }}, defaultMode: 0440, items: [{ key: {{ .passwordKey }}, path: password }] }
{{- end }}
{{- end }}
{{- end }}
{{- end -}}
