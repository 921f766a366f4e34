{{/* Name of the chart or its override. */}}
{{- define "karpenter.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Name of the objects. */}}
{{- define "karpenter.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "karpenter.chart" -}}
{{- printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Selector labels of the controller's pods. */}}
{{- define "karpenter.selectorLabels" -}}
app.kubernetes.io/name: {{ include "karpenter.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Labels of every object. */}}
{{- define "karpenter.labels" -}}
helm.sh/chart: {{ include "karpenter.chart" . }}
{{ include "karpenter.selectorLabels" . }}
{{- if .Chart.AppVersion }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.additionalLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Labels and annotations of an object without further labels and annotations. */}}
{{- define "karpenter.metadata" -}}
labels:
  {{- include "karpenter.labels" . | nindent 2 }}
{{- with .Values.additionalAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "karpenter.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "karpenter.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* The subject of every binding. */}}
{{- define "karpenter.subjects" -}}
subjects:
  - kind: ServiceAccount
    name: {{ include "karpenter.serviceAccountName" . }}
    namespace: {{ .Release.Namespace }}
{{- end }}

{{/* Fails without the name of the cluster, and returns an empty string. */}}
{{- define "karpenter.requireClusterName" -}}
{{- $name := required "Chart cannot be installed without a valid settings.clusterName!" .Values.settings.clusterName }}
{{- end }}

{{/* Fails for an image of Karpenter, which values of Karpenter's chart contain. */}}
{{- define "karpenter.rejectKarpenterImage" -}}
{{- $repository := toString .Values.controller.image.repository }}
{{- if regexMatch `(^public\.ecr\.aws/karpenter/|\bkarpenter/controller$)` $repository }}
{{- fail (printf "controller.image.repository is %q, the image of Karpenter, which this chart cannot run: remove controller.image from your values, for example with `npx karpenter convert values -f values.yaml -o values.yaml`, and install with --set controller.image.repository=REGISTRY/karpenter-ts" $repository) }}
{{- end }}
{{- end }}

{{- define "karpenter.image" -}}
{{- include "karpenter.rejectKarpenterImage" . }}
{{- $image := .Values.controller.image }}
{{- required "controller.image.repository is not set, and this chart has no image of its own: build one (docker build -t REGISTRY/karpenter-ts:VERSION . && docker push …), and install with --set controller.image.repository=REGISTRY/karpenter-ts" $image.repository }}:{{ default .Chart.AppVersion $image.tag }}
{{- with $image.digest }}@{{ . }}{{ end }}
{{- end }}

{{/*
Values that the chart does not know, one a line. Those of a parent chart, under `global`, are not its own.
Takes values, known (names by their place, see karpenter.knownValues) and path (of the values, with a dot at its end).
*/}}
{{- define "karpenter.unknownValues" -}}
{{- range $name, $value := .values }}
{{- $path := printf "%s%s" $.path $name }}
{{- $inner := get $.known $name }}
{{- if not (hasKey $.known $name) }}
{{- if ne $path "global" }}{{ printf "\n  %s" $path }}{{ end }}
{{- else if and (kindIs "map" $value) (kindIs "map" $inner) }}
{{- include "karpenter.unknownValues" (dict "values" $value "known" $inner "path" (printf "%s." $path)) }}
{{- end }}
{{- end }}
{{- end }}

{{/* Adds the selector of the controller's pods to a term without a selector. Arguments: term and root. */}}
{{- define "karpenter.selectPods" -}}
{{- if not (hasKey .term "labelSelector") }}
{{- $labels := include "karpenter.selectorLabels" .root | fromYaml }}
{{- $_ := set .term "labelSelector" (dict "matchLabels" $labels) }}
{{- end }}
{{- end }}

{{- define "karpenter.affinity" -}}
{{- $root := . }}
{{- $affinity := deepCopy .Values.affinity }}
{{- range $kind := list "podAffinity" "podAntiAffinity" }}
{{- with get $affinity $kind }}
{{- range $term := .requiredDuringSchedulingIgnoredDuringExecution }}
{{- include "karpenter.selectPods" (dict "term" $term "root" $root) }}
{{- end }}
{{- range $weighted := .preferredDuringSchedulingIgnoredDuringExecution }}
{{- with $weighted.podAffinityTerm }}
{{- include "karpenter.selectPods" (dict "term" . "root" $root) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- toYaml $affinity }}
{{- end }}

{{- define "karpenter.topologySpreadConstraints" -}}
{{- $root := . }}
{{- $constraints := list }}
{{- range $given := .Values.topologySpreadConstraints }}
{{- $constraint := deepCopy $given }}
{{- include "karpenter.selectPods" (dict "term" $constraint "root" $root) }}
{{- $constraints = append $constraints $constraint }}
{{- end }}
{{- toYaml $constraints }}
{{- end }}

{{/* Environment variables of settings with a value, in a fixed order. */}}
{{- define "karpenter.settings" -}}
{{- $root := . }}
{{- $settings := .Values.settings }}
{{- $servesDevices := include "karpenter.servesDevices" . }}
{{- range list
  (list "BATCH_MAX_DURATION" "batchMaxDuration" true)
  (list "BATCH_IDLE_DURATION" "batchIdleDuration" true)
  (list "PREFERENCE_POLICY" "preferencePolicy" false)
  (list "MIN_VALUES_POLICY" "minValuesPolicy" false)
  (list "CLUSTER_CA_BUNDLE" "clusterCABundle" true)
  (list "CLUSTER_NAME" "clusterName" true)
  (list "CLUSTER_ENDPOINT" "clusterEndpoint" true)
  (list "ISOLATED_VPC" "isolatedVPC" true)
  (list "EKS_CONTROL_PLANE" "eksControlPlane" true)
  (list "VM_MEMORY_OVERHEAD_PERCENT" "vmMemoryOverheadPercent" true)
  (list "INTERRUPTION_QUEUE" "interruptionQueue" true)
  (list "ENABLE_ZONAL_SHIFT" "enableZonalShift" true)
  (list "RESERVED_ENIS" "reservedENIs" true)
  (list "IGNORE_DRA_REQUESTS" "ignoreDRARequests" true)
  (list "DISABLE_CLUSTER_STATE_OBSERVABILITY" "disableClusterStateObservability" true)
  (list "DISABLE_DRY_RUN" "disableDryRun" true)
  (list "AMI_REFRESH_INTERVAL" "amiRefreshInterval" true)
  (list "SUBNET_REFRESH_INTERVAL" "subnetRefreshInterval" true)
  (list "MODE" "mode" false)
  (list "PACKING" "packing" false)
  (list "CONSOLIDATION" "consolidation" false)
  (list "STEERING" "steering" false)
  (list "POD_DELETION_COST" "podDeletionCost" false)
  (list "POD_NOMINATION" "podNomination" false)
  (list "POD_SURGE" "podSurge" false)
  (list "DRAIN_CONDITIONS" "drainConditions" false)
  (list "SCHEDULED_EVENTS" "scheduledEvents" false)
  (list "EVICTION_PRICE" "evictionPrice" false)
  (list "METRICS" "metrics" false)
  (list "NODE_HOURLY_FEE" "nodeHourlyFee" false)
  (list "SPOT_RISK" "spotRisk" false)
  (list "EXPECTED_CPU_UTILIZATION" "expectedCpuUtilization" false)
}}
{{- $value := get $settings (index . 1) }}
{{- /* the gate of a driver permits its requests */}}
{{- if and (eq (index . 0) "IGNORE_DRA_REQUESTS") $servesDevices }}
{{- $value = "false" }}
{{- end }}
{{- /* with remove, the right remains, and the operator removes the costs */}}
{{- if and (eq (index . 0) "POD_DELETION_COST") (ne (toString $value) "true") }}
{{- $value = "" }}
{{- end }}
{{- /* false, and a fee, a weight or a utilization of 0, are not the same as none */}}
{{- if or $value (and (has (index . 0) (list "STEERING" "EVICTION_PRICE" "NODE_HOURLY_FEE" "SPOT_RISK" "EXPECTED_CPU_UTILIZATION")) (has (toString $value) (list "0" "false"))) }}
- name: {{ index . 0 }}
  value: {{ ternary (tpl (toString $value) $root) (toString $value) (index . 2) | quote }}
{{- end }}
{{- end }}
{{- /* on unless it is set otherwise */}}
{{- if eq (toString $settings.costHistory) "false" }}
- name: COST_HISTORY
  value: "false"
{{- end }}
{{- end }}

{{/* Returns a non-empty string if spot interruptions are recorded: spotRisk is not 0 and packing is not compatible. */}}
{{- define "karpenter.remembersSpotRisk" -}}
{{- $weight := toString (default "" .Values.settings.spotRisk) }}
{{- if eq (toString .Values.settings.spotRisk) "0" }}{{ $weight = "0" }}{{ end }}
{{- if and (or (eq $weight "") (gt (float64 $weight) 0.0)) (ne .Values.settings.packing "compatible") }}true{{ end }}
{{- end }}

{{/* Names of the ConfigMaps that the operator writes, as a JSON array. */}}
{{- define "karpenter.documents" -}}
{{- $documents := list }}
{{- if ne (toString .Values.settings.costHistory) "false" }}
{{- $documents = append $documents "karpenter-history" }}
{{- end }}
{{- if include "karpenter.remembersSpotRisk" . }}
{{- $documents = append $documents "karpenter-spot-risk" }}
{{- end }}
{{- if include "karpenter.servesDevices" . }}
{{- $documents = append $documents "karpenter-device-samples" }}
{{- end }}
{{- $documents = append $documents "karpenter-node-capacities" }}
{{- toJson $documents }}
{{- end }}

{{/*
Returns a non-empty string if an object in the namespace of the release belongs to the release or does not exist. Helm rejects a
release if it contains objects of another owner. Arguments: root, apiVersion, kind and name.
*/}}
{{- define "karpenter.isOwnOrNew" -}}
{{- $release := .root.Release }}
{{- $found := lookup .apiVersion .kind $release.Namespace .name }}
{{- $annotations := dig "metadata" "annotations" dict $found | default dict }}
{{- $isOwn := and (eq (get $annotations "meta.helm.sh/release-name") $release.Name) (eq (get $annotations "meta.helm.sh/release-namespace") $release.Namespace) }}
{{- if or (not $found) $isOwn }}true{{ end }}
{{- end }}

{{/* Security context of containers, which the restricted level of the pod security standards permits. */}}
{{- define "karpenter.securityContext" -}}
privileged: false
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
capabilities:
  drop:
    - ALL
{{- range $key := list "appArmorProfile" "seLinuxOptions" "seccompProfile" }}
{{- with get ($.Values.controller.securityContext | default dict) $key }}
{{ $key }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{/* Name of the ConfigMap with the price book, or an empty string. */}}
{{- define "karpenter.priceBookConfigMap" -}}
{{- $book := .Values.priceBook | default dict }}
{{- if and $book.content $book.configMap }}
{{- fail "priceBook.content and priceBook.configMap are both set: give the price book itself, or the name of a ConfigMap that has it" }}
{{- end }}
{{- if $book.content }}{{ include "karpenter.fullname" . }}-price-book{{ else }}{{ $book.configMap | default "" }}{{ end }}
{{- end }}

{{/* Feature gates of DRA drivers as `,DRAEFA=true`. Gates that are not set have the default of the operator. */}}
{{- define "karpenter.draGates" -}}
{{- $settings := .Values.settings }}
{{- $gates := $settings.awsFeatureGates | default dict }}
{{- $isOn := eq (toString $settings.enableDRA) "true" }}
{{- $given := list }}
{{- range list (list "DRANVIDIAGPU" "draNVIDIAGPU" true) (list "DRAEFA" "draEFA" true) (list "DRANeuron" "draNeuron" false) }}
{{- $value := get $gates (index . 1) }}
{{- if not (or (kindIs "invalid" $value) (eq (toString $value) "")) }}
{{- $given = append $given (printf "settings.awsFeatureGates.%s" (index . 1)) }}
{{- printf ",%s=%s" (index . 0) (toString $value) }}
{{- else if and $isOn (index . 2) }}
{{- printf ",%s=true" (index . 0) }}
{{- end }}
{{- end }}
{{- if eq (toString $settings.ignoreDRARequests) "false" }}
{{- $given = append $given "settings.ignoreDRARequests" }}
{{- end }}
{{- if and $isOn $given }}
{{- fail (printf "settings.enableDRA is mutually exclusive with %s: unset them, or unset settings.enableDRA" (join ", " $given)) }}
{{- end }}
{{- end }}

{{/* Returns a non-empty string if pods with resource claims get nodes. */}}
{{- define "karpenter.servesDevices" -}}
{{- if or (contains "=true" (include "karpenter.draGates" .)) (eq (toString .Values.settings.ignoreDRARequests) "false") }}true{{ end }}
{{- end }}

{{/* Formats a feature gate as `Name=true`. A gate without a value has its default. Arguments: name, value and default. */}}
{{- define "karpenter.gate" -}}
{{- index . 0 }}={{ if kindIs "invalid" (index . 1) }}{{ index . 2 }}{{ else }}{{ index . 1 }}{{ end }}
{{- end }}

{{- define "karpenter.featureGates" -}}
{{- $gates := .Values.settings.featureGates | default dict }}
{{- $pairs := list }}
{{- range list
  (list "ReservedCapacity" $gates.reservedCapacity true)
  (list "SpotToSpotConsolidation" $gates.spotToSpotConsolidation false)
  (list "NodeRepair" $gates.nodeRepair false)
  (list "NodeOverlay" $gates.nodeOverlay false)
  (list "StaticCapacity" $gates.staticCapacity true)
  (list "CapacityBuffer" $gates.capacityBuffer true)
  (list "CapacityQuota" $gates.capacityQuota false)
  (list "ProvisioningRequest" $gates.provisioningRequest false)
  (list "PodGroup" $gates.podGroup false)
}}
{{- $pairs = append $pairs (include "karpenter.gate" .) }}
{{- end }}
{{- join "," $pairs }}
{{- end }}
