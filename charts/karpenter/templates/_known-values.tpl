{{/* Values that the chart knows. Written by `npm run generate` from values.schema.json. */}}
{{- define "karpenter.knownValues" -}}
nameOverride: true
fullnameOverride: true
additionalLabels: true
additionalAnnotations: true
imagePullPolicy: true
imagePullSecrets: true
service:
  annotations: true
serviceAccount:
  create: true
  name: true
  annotations: true
additionalClusterRoleRules: true
serviceMonitor:
  enabled: true
  additionalLabels: true
  relabelings: true
  metricRelabelings: true
  endpointConfig: true
  sampleLimit: true
dashboards:
  enabled: true
  labels: true
  annotations: true
prometheusRule:
  enabled: true
  additionalLabels: true
networkPolicy:
  enabled: true
  metricsFrom: true
replicas: true
revisionHistoryLimit: true
strategy: true
podLabels: true
podAnnotations: true
podDisruptionBudget:
  name: true
  maxUnavailable: true
podSecurityContext: true
priorityClassName: true
terminationGracePeriodSeconds: true
hostNetwork: true
schedulerName: true
dnsPolicy: true
dnsConfig: true
initContainers: true
nodeSelector: true
affinity: true
topologySpreadConstraints: true
tolerations: true
extraVolumes: true
priceBook:
  content: true
  configMap: true
controller:
  containerName: true
  image:
    repository: true
    tag: true
    digest: true
  env: true
  envFrom: true
  securityContext:
    appArmorProfile: true
    seLinuxOptions: true
    seccompProfile: true
  resources: true
  extraVolumeMounts: true
  sidecarContainer: true
  sidecarVolumeMounts: true
  metrics:
    port: true
  healthProbe:
    port: true
logLevel: true
logOutputPaths: true
logErrorOutputPaths: true
settings:
  batchMaxDuration: true
  batchIdleDuration: true
  clusterCABundle: true
  clusterName: true
  clusterEndpoint: true
  isolatedVPC: true
  eksControlPlane: true
  vmMemoryOverheadPercent: true
  interruptionQueue: true
  enableZonalShift: true
  reservedENIs: true
  ignoreDRARequests: true
  enableDRA: true
  disableClusterStateObservability: true
  disableDryRun: true
  amiRefreshInterval: true
  subnetRefreshInterval: true
  preferencePolicy: true
  minValuesPolicy: true
  nodeHourlyFee: true
  expectedCpuUtilization: true
  spotRisk: true
  packing: true
  consolidation: true
  evictionPrice: true
  steering: true
  podDeletionCost: true
  mode: true
  podNomination: true
  podSurge: true
  drainConditions: true
  scheduledEvents: true
  costHistory: true
  metrics: true
  featureGates:
    nodeRepair: true
    reservedCapacity: true
    spotToSpotConsolidation: true
    nodeOverlay: true
    staticCapacity: true
    capacityBuffer: true
    capacityQuota: true
    provisioningRequest: true
    podGroup: true
  awsFeatureGates:
    nodeClassCEL: true
    draNVIDIAGPU: true
    draEFA: true
    draNeuron: true
{{- end }}
