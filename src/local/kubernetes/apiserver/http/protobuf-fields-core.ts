/**
 * Field numbers of the messages that Go clients send, one message per line: `number:jsonName:type`. They are the struct
 * tags of k8s.io/api and never change. test/cluster/harness/protobuf-fields.ts generates them. An empty name is an
 * embedded message, and its fields belong to its parent. Types: s text, i integer, t boolean, d double, y bytes, q
 * quantity, T time, u time with microseconds, o number or text, r raw JSON, m message; for schemas B schema or boolean,
 * A schema or list, S schema or list of text. Prefixes: * is a pointer (kept if zero), ! is a value that JSON always
 * contains, [ is a list and { is a map by text.
 */
export const CORE_FIELDS = `
core/v1.AWSElasticBlockStoreVolumeSource 1:volumeID:!s 2:fsType:s 3:partition:i 4:readOnly:t
core/v1.Affinity 1:nodeAffinity:*mNodeAffinity 2:podAffinity:*mPodAffinity 3:podAntiAffinity:*mPodAntiAffinity
core/v1.AppArmorProfile 1:type:!s 2:localhostProfile:*s
core/v1.AttachedVolume 1:name:!s 2:devicePath:!s
core/v1.AzureDiskVolumeSource 1:diskName:!s 2:diskURI:!s 3:cachingMode:*s 4:fsType:*s 5:readOnly:*t 6:kind:*s
core/v1.AzureFilePersistentVolumeSource 1:secretName:!s 2:shareName:!s 3:readOnly:t 4:secretNamespace:*s
core/v1.AzureFileVolumeSource 1:secretName:!s 2:shareName:!s 3:readOnly:t
core/v1.Binding 1:metadata:mmeta/v1.ObjectMeta 2:target:mObjectReference
core/v1.CSIPersistentVolumeSource 1:driver:!s 2:volumeHandle:!s 3:readOnly:t 4:fsType:s 5:volumeAttributes:{s 6:controllerPublishSecretRef:*mSecretReference 7:nodeStageSecretRef:*mSecretReference 8:nodePublishSecretRef:*mSecretReference 9:controllerExpandSecretRef:*mSecretReference 10:nodeExpandSecretRef:*mSecretReference
core/v1.CSIVolumeSource 1:driver:!s 2:readOnly:*t 3:fsType:*s 4:volumeAttributes:{s 5:nodePublishSecretRef:*mLocalObjectReference
core/v1.Capabilities 1:add:[s 2:drop:[s
core/v1.CephFSPersistentVolumeSource 1:monitors:[s 2:path:s 3:user:s 4:secretFile:s 5:secretRef:*mSecretReference 6:readOnly:t
core/v1.CephFSVolumeSource 1:monitors:[s 2:path:s 3:user:s 4:secretFile:s 5:secretRef:*mLocalObjectReference 6:readOnly:t
core/v1.CinderPersistentVolumeSource 1:volumeID:!s 2:fsType:s 3:readOnly:t 4:secretRef:*mSecretReference
core/v1.CinderVolumeSource 1:volumeID:!s 2:fsType:s 3:readOnly:t 4:secretRef:*mLocalObjectReference
core/v1.ClientIPConfig 1:timeoutSeconds:*i
core/v1.ClusterTrustBundleProjection 1:name:*s 2:signerName:*s 3:labelSelector:*mmeta/v1.LabelSelector 5:optional:*t 4:path:!s 6:user:*i
core/v1.ConfigMap 1:metadata:mmeta/v1.ObjectMeta 4:immutable:*t 2:data:{s 3:binaryData:{y
core/v1.ConfigMapEnvSource 1::mLocalObjectReference 2:optional:*t
core/v1.ConfigMapKeySelector 1::mLocalObjectReference 2:key:!s 3:optional:*t
core/v1.ConfigMapNodeConfigSource 1:namespace:!s 2:name:!s 3:uid:s 4:resourceVersion:s 5:kubeletConfigKey:!s
core/v1.ConfigMapProjection 1::mLocalObjectReference 2:items:[mKeyToPath 4:optional:*t
core/v1.ConfigMapVolumeSource 1::mLocalObjectReference 2:items:[mKeyToPath 3:defaultMode:*i 4:optional:*t 5:defaultUser:*i
core/v1.Container 1:name:!s 2:image:s 3:command:[s 4:args:[s 5:workingDir:s 6:ports:[mContainerPort 19:envFrom:[mEnvFromSource 7:env:[mEnvVar 8:resources:mResourceRequirements 23:resizePolicy:[mContainerResizePolicy 24:restartPolicy:*s 25:restartPolicyRules:[mContainerRestartRule 9:volumeMounts:[mVolumeMount 21:volumeDevices:[mVolumeDevice 10:livenessProbe:*mProbe 11:readinessProbe:*mProbe 22:startupProbe:*mProbe 12:lifecycle:*mLifecycle 13:terminationMessagePath:s 20:terminationMessagePolicy:s 14:imagePullPolicy:s 15:securityContext:*mSecurityContext 16:stdin:t 17:stdinOnce:t 18:tty:t
core/v1.ContainerExtendedResourceRequest 1:containerName:!s 2:resourceName:!s 3:requestName:!s
core/v1.ContainerImage 1:names:[s 2:sizeBytes:i
core/v1.ContainerPort 1:name:s 2:hostPort:i 3:containerPort:!i 4:protocol:s 5:hostIP:s
core/v1.ContainerResizePolicy 1:resourceName:!s 2:restartPolicy:!s
core/v1.ContainerRestartRule 1:action:s 2:exitCodes:*mContainerRestartRuleOnExitCodes
core/v1.ContainerRestartRuleOnExitCodes 1:operator:s 2:values:[i
core/v1.ContainerState 1:waiting:*mContainerStateWaiting 2:running:*mContainerStateRunning 3:terminated:*mContainerStateTerminated
core/v1.ContainerStateRunning 1:startedAt:T
core/v1.ContainerStateTerminated 1:exitCode:!i 2:signal:i 3:reason:s 4:message:s 5:startedAt:T 6:finishedAt:T 7:containerID:s
core/v1.ContainerStateWaiting 1:reason:s 2:message:s
core/v1.ContainerStatus 1:name:!s 2:state:mContainerState 3:lastState:mContainerState 4:ready:!t 5:restartCount:!i 6:image:!s 7:imageID:!s 8:containerID:s 9:started:*t 10:allocatedResources:{q 11:resources:*mResourceRequirements 12:volumeMounts:[mVolumeMountStatus 13:user:*mContainerUser 14:allocatedResourcesStatus:[mResourceStatus 15:stopSignal:*s
core/v1.ContainerUser 1:linux:*mLinuxContainerUser
core/v1.DaemonEndpoint 1:Port:!i
core/v1.DownwardAPIProjection 1:items:[mDownwardAPIVolumeFile
core/v1.DownwardAPIVolumeFile 1:path:!s 2:fieldRef:*mObjectFieldSelector 3:resourceFieldRef:*mResourceFieldSelector 4:mode:*i 5:user:*i
core/v1.DownwardAPIVolumeSource 1:items:[mDownwardAPIVolumeFile 2:defaultMode:*i 3:defaultUser:*i
core/v1.EmptyDirVolumeSource 1:medium:s 2:sizeLimit:*q 3:mode:*i
core/v1.EndpointAddress 1:ip:!s 3:hostname:s 4:nodeName:*s 2:targetRef:*mObjectReference
core/v1.EndpointPort 1:name:s 2:port:!i 3:protocol:s 4:appProtocol:*s
core/v1.EndpointSubset 1:addresses:[mEndpointAddress 2:notReadyAddresses:[mEndpointAddress 3:ports:[mEndpointPort
core/v1.Endpoints 1:metadata:mmeta/v1.ObjectMeta 2:subsets:[mEndpointSubset
core/v1.EnvFromSource 1:prefix:s 2:configMapRef:*mConfigMapEnvSource 3:secretRef:*mSecretEnvSource
core/v1.EnvVar 1:name:!s 2:value:s 3:valueFrom:*mEnvVarSource
core/v1.EnvVarSource 1:fieldRef:*mObjectFieldSelector 2:resourceFieldRef:*mResourceFieldSelector 3:configMapKeyRef:*mConfigMapKeySelector 4:secretKeyRef:*mSecretKeySelector 5:fileKeyRef:*mFileKeySelector
core/v1.EphemeralContainer 1::mEphemeralContainerCommon 2:targetContainerName:s
core/v1.EphemeralContainerCommon 1:name:!s 2:image:s 3:command:[s 4:args:[s 5:workingDir:s 6:ports:[mContainerPort 19:envFrom:[mEnvFromSource 7:env:[mEnvVar 8:resources:mResourceRequirements 23:resizePolicy:[mContainerResizePolicy 24:restartPolicy:*s 25:restartPolicyRules:[mContainerRestartRule 9:volumeMounts:[mVolumeMount 21:volumeDevices:[mVolumeDevice 10:livenessProbe:*mProbe 11:readinessProbe:*mProbe 22:startupProbe:*mProbe 12:lifecycle:*mLifecycle 13:terminationMessagePath:s 20:terminationMessagePolicy:s 14:imagePullPolicy:s 15:securityContext:*mSecurityContext 16:stdin:t 17:stdinOnce:t 18:tty:t
core/v1.EphemeralVolumeSource 1:volumeClaimTemplate:*mPersistentVolumeClaimTemplate
core/v1.Event 1:metadata:mmeta/v1.ObjectMeta 2:involvedObject:mObjectReference 3:reason:s 4:message:s 5:source:mEventSource 6:firstTimestamp:T 7:lastTimestamp:T 8:count:i 9:type:s 10:eventTime:u 11:series:*mEventSeries 12:action:s 13:related:*mObjectReference 14:reportingComponent:!s 15:reportingInstance:!s
core/v1.EventSeries 1:count:i 2:lastObservedTime:u
core/v1.EventSource 1:component:s 2:host:s
core/v1.EvictionResponder 1:name:!s 2:priority:*i
core/v1.ExecAction 1:command:[s
core/v1.FCVolumeSource 1:targetWWNs:[s 2:lun:*i 3:fsType:s 4:readOnly:t 5:wwids:[s
core/v1.FileKeySelector 1:volumeName:!s 2:path:!s 3:key:!s 4:optional:*t
core/v1.FlexPersistentVolumeSource 1:driver:!s 2:fsType:s 3:secretRef:*mSecretReference 4:readOnly:t 5:options:{s
core/v1.FlexVolumeSource 1:driver:!s 2:fsType:s 3:secretRef:*mLocalObjectReference 4:readOnly:t 5:options:{s
core/v1.FlockerVolumeSource 1:datasetName:s 2:datasetUUID:s
core/v1.GCEPersistentDiskVolumeSource 1:pdName:!s 2:fsType:s 3:partition:i 4:readOnly:t
core/v1.GRPCAction 1:port:!i 2:service:*s 3:mode:*s
core/v1.GitRepoVolumeSource 1:repository:!s 2:revision:s 3:directory:s
core/v1.GlusterfsPersistentVolumeSource 1:endpoints:!s 2:path:!s 3:readOnly:t 4:endpointsNamespace:*s
core/v1.GlusterfsVolumeSource 1:endpoints:!s 2:path:!s 3:readOnly:t
core/v1.HTTPGetAction 1:path:s 2:port:o 3:host:s 4:scheme:s 5:httpHeaders:[mHTTPHeader 6:protocol:*s
core/v1.HTTPHeader 1:name:!s 2:value:!s
core/v1.HostAlias 1:ip:!s 2:hostnames:[s
core/v1.HostIP 1:ip:!s
core/v1.HostPathVolumeSource 1:path:!s 2:type:*s
core/v1.ISCSIPersistentVolumeSource 1:targetPortal:!s 2:iqn:!s 3:lun:!i 4:iscsiInterface:s 5:fsType:s 6:readOnly:t 7:portals:[s 8:chapAuthDiscovery:t 11:chapAuthSession:t 10:secretRef:*mSecretReference 12:initiatorName:*s
core/v1.ISCSIVolumeSource 1:targetPortal:!s 2:iqn:!s 3:lun:!i 4:iscsiInterface:s 5:fsType:s 6:readOnly:t 7:portals:[s 8:chapAuthDiscovery:t 11:chapAuthSession:t 10:secretRef:*mLocalObjectReference 12:initiatorName:*s
core/v1.ImageVolumeSource 1:reference:s 2:pullPolicy:s
core/v1.ImageVolumeStatus 1:imageRef:s
core/v1.KeyToPath 1:key:!s 2:path:!s 3:mode:*i 4:user:*i
core/v1.Lifecycle 1:postStart:*mLifecycleHandler 2:preStop:*mLifecycleHandler 3:stopSignal:*s
core/v1.LifecycleHandler 1:exec:*mExecAction 2:httpGet:*mHTTPGetAction 3:tcpSocket:*mTCPSocketAction 4:sleep:*mSleepAction
core/v1.LimitRange 1:metadata:mmeta/v1.ObjectMeta 2:spec:mLimitRangeSpec
core/v1.LimitRangeItem 1:type:!s 2:max:{q 3:min:{q 4:default:{q 5:defaultRequest:{q 6:maxLimitRequestRatio:{q
core/v1.LimitRangeSpec 1:limits:[mLimitRangeItem
core/v1.LinuxContainerUser 1:uid:!i 2:gid:!i 3:supplementalGroups:[i
core/v1.LoadBalancerIngress 1:ip:s 2:hostname:s 3:ipMode:*s 4:ports:[mPortStatus
core/v1.LoadBalancerStatus 1:ingress:[mLoadBalancerIngress
core/v1.LocalObjectReference 1:name:s
core/v1.LocalVolumeSource 1:path:!s 2:fsType:*s
core/v1.ModifyVolumeStatus 1:targetVolumeAttributesClassName:s 2:status:!s
core/v1.NFSVolumeSource 1:server:!s 2:path:!s 3:readOnly:t
core/v1.Namespace 1:metadata:mmeta/v1.ObjectMeta 2:spec:mNamespaceSpec 3:status:mNamespaceStatus
core/v1.NamespaceCondition 1:type:!s 2:status:!s 4:lastTransitionTime:T 5:reason:s 6:message:s
core/v1.NamespaceSpec 1:finalizers:[s
core/v1.NamespaceStatus 1:phase:s 2:conditions:[mNamespaceCondition
core/v1.Node 1:metadata:mmeta/v1.ObjectMeta 2:spec:mNodeSpec 3:status:mNodeStatus
core/v1.NodeAddress 1:type:!s 2:address:!s
core/v1.NodeAffinity 1:requiredDuringSchedulingIgnoredDuringExecution:*mNodeSelector 2:preferredDuringSchedulingIgnoredDuringExecution:[mPreferredSchedulingTerm
core/v1.NodeAllocatableMappedResources 1:name:!s 2:quantity:*q
core/v1.NodeAllocatableOverheadResources 1:name:!s 2:perPod:*q 3:perContainer:*q
core/v1.NodeAllocatableResourceClaimStatus 1:resourceClaimName:!s 2:containers:[s 4:mapping:[mNodeAllocatableMappedResources 5:overhead:[mNodeAllocatableOverheadResources
core/v1.NodeCondition 1:type:!s 2:status:!s 3:lastHeartbeatTime:T 4:lastTransitionTime:T 5:reason:s 6:message:s
core/v1.NodeConfigSource 2:configMap:*mConfigMapNodeConfigSource
core/v1.NodeConfigStatus 1:assigned:*mNodeConfigSource 2:active:*mNodeConfigSource 3:lastKnownGood:*mNodeConfigSource 4:error:s
core/v1.NodeDaemonEndpoints 1:kubeletEndpoint:mDaemonEndpoint
core/v1.NodeFeatures 1:supplementalGroupsPolicy:*t
core/v1.NodePodPreemptionPolicy 1:disableResizePreemption:[s
core/v1.NodeRuntimeHandler 1:name:!s 2:features:*mNodeRuntimeHandlerFeatures
core/v1.NodeRuntimeHandlerFeatures 1:recursiveReadOnlyMounts:*t 2:userNamespaces:*t
core/v1.NodeSelector 1:nodeSelectorTerms:[mNodeSelectorTerm
core/v1.NodeSelectorRequirement 1:key:!s 2:operator:!s 3:values:[s
core/v1.NodeSelectorTerm 1:matchExpressions:[mNodeSelectorRequirement 2:matchFields:[mNodeSelectorRequirement
core/v1.NodeSpec 1:podCIDR:s 7:podCIDRs:[s 3:providerID:s 4:unschedulable:t 5:taints:[mTaint 6:configSource:*mNodeConfigSource 2:externalID:s 8:podPreemptionPolicy:*mNodePodPreemptionPolicy
core/v1.NodeStatus 1:capacity:{q 2:allocatable:{q 3:phase:s 4:conditions:[mNodeCondition 5:addresses:[mNodeAddress 6:daemonEndpoints:mNodeDaemonEndpoints 7:nodeInfo:mNodeSystemInfo 8:images:[mContainerImage 9:volumesInUse:[s 10:volumesAttached:[mAttachedVolume 11:config:*mNodeConfigStatus 12:runtimeHandlers:[mNodeRuntimeHandler 13:features:*mNodeFeatures 14:declaredFeatures:[s
core/v1.NodeSwapStatus 1:capacity:*i
core/v1.NodeSystemInfo 1:machineID:!s 2:systemUUID:!s 3:bootID:!s 4:kernelVersion:!s 5:osImage:!s 6:containerRuntimeVersion:!s 7:kubeletVersion:!s 8:kubeProxyVersion:!s 9:operatingSystem:!s 10:architecture:!s 11:swap:*mNodeSwapStatus 12:runningInUserNamespace:*t
core/v1.ObjectFieldSelector 1:apiVersion:s 2:fieldPath:!s
core/v1.ObjectReference 1:kind:s 2:namespace:s 3:name:s 4:uid:s 5:apiVersion:s 6:resourceVersion:s 7:fieldPath:s
core/v1.PersistentVolume 1:metadata:mmeta/v1.ObjectMeta 2:spec:mPersistentVolumeSpec 3:status:mPersistentVolumeStatus
core/v1.PersistentVolumeClaim 1:metadata:mmeta/v1.ObjectMeta 2:spec:mPersistentVolumeClaimSpec 3:status:mPersistentVolumeClaimStatus
core/v1.PersistentVolumeClaimCondition 1:type:!s 2:status:!s 3:lastProbeTime:T 4:lastTransitionTime:T 5:reason:s 6:message:s
core/v1.PersistentVolumeClaimSpec 1:accessModes:[s 4:selector:*mmeta/v1.LabelSelector 2:resources:mVolumeResourceRequirements 3:volumeName:s 5:storageClassName:*s 6:volumeMode:*s 7:dataSource:*mTypedLocalObjectReference 8:dataSourceRef:*mTypedObjectReference 9:volumeAttributesClassName:*s
core/v1.PersistentVolumeClaimStatus 1:phase:s 2:accessModes:[s 3:capacity:{q 4:conditions:[mPersistentVolumeClaimCondition 5:allocatedResources:{q 7:allocatedResourceStatuses:{s 8:currentVolumeAttributesClassName:*s 9:modifyVolumeStatus:*mModifyVolumeStatus 10:healthStatus:*mVolumeHealthStatus
core/v1.PersistentVolumeClaimTemplate 1:metadata:mmeta/v1.ObjectMeta 2:spec:mPersistentVolumeClaimSpec
core/v1.PersistentVolumeClaimVolumeSource 1:claimName:!s 2:readOnly:t
core/v1.PersistentVolumeSource 1:gcePersistentDisk:*mGCEPersistentDiskVolumeSource 2:awsElasticBlockStore:*mAWSElasticBlockStoreVolumeSource 3:hostPath:*mHostPathVolumeSource 4:glusterfs:*mGlusterfsPersistentVolumeSource 5:nfs:*mNFSVolumeSource 6:rbd:*mRBDPersistentVolumeSource 7:iscsi:*mISCSIPersistentVolumeSource 8:cinder:*mCinderPersistentVolumeSource 9:cephfs:*mCephFSPersistentVolumeSource 10:fc:*mFCVolumeSource 11:flocker:*mFlockerVolumeSource 12:flexVolume:*mFlexPersistentVolumeSource 13:azureFile:*mAzureFilePersistentVolumeSource 14:vsphereVolume:*mVsphereVirtualDiskVolumeSource 15:quobyte:*mQuobyteVolumeSource 16:azureDisk:*mAzureDiskVolumeSource 17:photonPersistentDisk:*mPhotonPersistentDiskVolumeSource 18:portworxVolume:*mPortworxVolumeSource 19:scaleIO:*mScaleIOPersistentVolumeSource 20:local:*mLocalVolumeSource 21:storageos:*mStorageOSPersistentVolumeSource 22:csi:*mCSIPersistentVolumeSource
core/v1.PersistentVolumeSpec 1:capacity:{q 2::mPersistentVolumeSource 3:accessModes:[s 4:claimRef:*mObjectReference 5:persistentVolumeReclaimPolicy:s 6:storageClassName:s 7:mountOptions:[s 8:volumeMode:*s 9:nodeAffinity:*mVolumeNodeAffinity 10:volumeAttributesClassName:*s
core/v1.PersistentVolumeStatus 1:phase:s 2:message:s 3:reason:s 4:lastPhaseTransitionTime:*T
core/v1.PhotonPersistentDiskVolumeSource 1:pdID:!s 2:fsType:s
core/v1.Pod 1:metadata:mmeta/v1.ObjectMeta 2:spec:mPodSpec 3:status:mPodStatus
core/v1.PodAffinity 1:requiredDuringSchedulingIgnoredDuringExecution:[mPodAffinityTerm 2:preferredDuringSchedulingIgnoredDuringExecution:[mWeightedPodAffinityTerm
core/v1.PodAffinityTerm 1:labelSelector:*mmeta/v1.LabelSelector 2:namespaces:[s 3:topologyKey:!s 4:namespaceSelector:*mmeta/v1.LabelSelector 5:matchLabelKeys:[s 6:mismatchLabelKeys:[s
core/v1.PodAntiAffinity 1:requiredDuringSchedulingIgnoredDuringExecution:[mPodAffinityTerm 2:preferredDuringSchedulingIgnoredDuringExecution:[mWeightedPodAffinityTerm
core/v1.PodCertificateProjection 1:signerName:s 2:keyType:s 3:maxExpirationSeconds:*i 4:credentialBundlePath:s 5:keyPath:s 6:certificateChainPath:s 7:userAnnotations:{s 8:user:*i
core/v1.PodCondition 1:type:!s 7:observedGeneration:i 2:status:!s 3:lastProbeTime:T 4:lastTransitionTime:T 5:reason:s 6:message:s
core/v1.PodDNSConfig 1:nameservers:[s 2:searches:[s 3:options:[mPodDNSConfigOption
core/v1.PodDNSConfigOption 1:name:s 2:value:*s
core/v1.PodExtendedResourceClaimStatus 1:requestMappings:[mContainerExtendedResourceRequest 2:resourceClaimName:!s
core/v1.PodIP 1:ip:!s
core/v1.PodOS 1:name:!s
core/v1.PodReadinessGate 1:conditionType:!s
core/v1.PodResourceClaim 1:name:!s 3:resourceClaimName:*s 4:resourceClaimTemplateName:*s
core/v1.PodResourceClaimStatus 1:name:!s 2:resourceClaimName:*s
core/v1.PodSchedulingGate 1:name:!s
core/v1.PodSchedulingGroup 1:podGroupName:*s
core/v1.PodSecurityContext 1:seLinuxOptions:*mSELinuxOptions 8:windowsOptions:*mWindowsSecurityContextOptions 2:runAsUser:*i 6:runAsGroup:*i 3:runAsNonRoot:*t 4:supplementalGroups:[i 12:supplementalGroupsPolicy:*s 5:fsGroup:*i 7:sysctls:[mSysctl 9:fsGroupChangePolicy:*s 10:seccompProfile:*mSeccompProfile 11:appArmorProfile:*mAppArmorProfile 13:seLinuxChangePolicy:*s
core/v1.PodSpec 1:volumes:[mVolume 20:initContainers:[mContainer 2:containers:[mContainer 34:ephemeralContainers:[mEphemeralContainer 3:restartPolicy:s 4:terminationGracePeriodSeconds:*i 5:activeDeadlineSeconds:*i 6:dnsPolicy:s 7:nodeSelector:{s 8:serviceAccountName:s 9:serviceAccount:s 21:automountServiceAccountToken:*t 10:nodeName:s 11:hostNetwork:t 12:hostPID:t 13:hostIPC:t 27:shareProcessNamespace:*t 14:securityContext:*mPodSecurityContext 15:imagePullSecrets:[mLocalObjectReference 16:hostname:s 17:subdomain:s 18:affinity:*mAffinity 19:schedulerName:s 22:tolerations:[mToleration 23:hostAliases:[mHostAlias 24:priorityClassName:s 25:priority:*i 26:dnsConfig:*mPodDNSConfig 28:readinessGates:[mPodReadinessGate 29:runtimeClassName:*s 30:enableServiceLinks:*t 31:preemptionPolicy:*s 32:overhead:{q 33:topologySpreadConstraints:[mTopologySpreadConstraint 35:setHostnameAsFQDN:*t 36:os:*mPodOS 37:hostUsers:*t 38:schedulingGates:[mPodSchedulingGate 39:resourceClaims:[mPodResourceClaim 40:resources:*mResourceRequirements 41:hostnameOverride:*s 43:schedulingGroup:*mPodSchedulingGroup 44:evictionResponders:[mEvictionResponder
core/v1.PodStatus 17:observedGeneration:i 1:phase:s 2:conditions:[mPodCondition 3:message:s 4:reason:s 11:nominatedNodeName:s 5:hostIP:s 16:hostIPs:[mHostIP 6:podIP:s 12:podIPs:[mPodIP 7:startTime:*T 10:initContainerStatuses:[mContainerStatus 8:containerStatuses:[mContainerStatus 9:qosClass:s 13:ephemeralContainerStatuses:[mContainerStatus 14:resize:s 15:resourceClaimStatuses:[mPodResourceClaimStatus 18:extendedResourceClaimStatus:*mPodExtendedResourceClaimStatus 19:allocatedResources:{q 20:resources:*mResourceRequirements 21:nodeAllocatableResourceClaimStatuses:[mNodeAllocatableResourceClaimStatus 22:volumeHealth:[mPodVolumeHealth
core/v1.PodTemplate 1:metadata:mmeta/v1.ObjectMeta 2:template:mPodTemplateSpec
core/v1.PodTemplateSpec 1:metadata:mmeta/v1.ObjectMeta 2:spec:mPodSpec
core/v1.PodVolumeHealth 1:name:!s 2:healthConditions:[mVolumeHealthCondition 3:lastTransitionTime:T
core/v1.PortStatus 1:port:!i 2:protocol:!s 3:error:*s
core/v1.PortworxVolumeSource 1:volumeID:!s 2:fsType:s 3:readOnly:t
core/v1.PreferredSchedulingTerm 1:weight:!i 2:preference:mNodeSelectorTerm
core/v1.Probe 1::mProbeHandler 2:initialDelaySeconds:i 3:timeoutSeconds:i 4:periodSeconds:i 5:successThreshold:i 6:failureThreshold:i 7:terminationGracePeriodSeconds:*i
core/v1.ProbeHandler 1:exec:*mExecAction 2:httpGet:*mHTTPGetAction 3:tcpSocket:*mTCPSocketAction 4:grpc:*mGRPCAction
core/v1.ProjectedVolumeSource 1:sources:[mVolumeProjection 2:defaultMode:*i 3:defaultUser:*i
core/v1.QuobyteVolumeSource 1:registry:!s 2:volume:!s 3:readOnly:t 4:user:s 5:group:s 6:tenant:s
core/v1.RBDPersistentVolumeSource 1:monitors:[s 2:image:!s 3:fsType:s 4:pool:s 5:user:s 6:keyring:s 7:secretRef:*mSecretReference 8:readOnly:t
core/v1.RBDVolumeSource 1:monitors:[s 2:image:!s 3:fsType:s 4:pool:s 5:user:s 6:keyring:s 7:secretRef:*mLocalObjectReference 8:readOnly:t
core/v1.ReplicationController 1:metadata:mmeta/v1.ObjectMeta 2:spec:mReplicationControllerSpec 3:status:mReplicationControllerStatus
core/v1.ReplicationControllerCondition 1:type:!s 2:status:!s 3:lastTransitionTime:T 4:reason:s 5:message:s
core/v1.ReplicationControllerSpec 1:replicas:*i 4:minReadySeconds:i 2:selector:{s 3:template:*mPodTemplateSpec
core/v1.ReplicationControllerStatus 1:replicas:!i 2:fullyLabeledReplicas:i 4:readyReplicas:i 5:availableReplicas:i 3:observedGeneration:i 6:conditions:[mReplicationControllerCondition
core/v1.ResourceClaim 1:name:!s 2:request:s
core/v1.ResourceFieldSelector 1:containerName:s 2:resource:!s 3:divisor:q
core/v1.ResourceHealth 1:resourceID:!s 2:health:s 6:message:*s
core/v1.ResourceQuota 1:metadata:mmeta/v1.ObjectMeta 2:spec:mResourceQuotaSpec 3:status:mResourceQuotaStatus
core/v1.ResourceQuotaSpec 1:hard:{q 2:scopes:[s 3:scopeSelector:*mScopeSelector
core/v1.ResourceQuotaStatus 1:hard:{q 2:used:{q
core/v1.ResourceRequirements 1:limits:{q 2:requests:{q 3:claims:[mResourceClaim
core/v1.ResourceStatus 1:name:!s 2:resources:[mResourceHealth
core/v1.SELinuxOptions 1:user:s 2:role:s 3:type:s 4:level:s
core/v1.ScaleIOPersistentVolumeSource 1:gateway:!s 2:system:!s 3:secretRef:*mSecretReference 4:sslEnabled:t 5:protectionDomain:s 6:storagePool:s 7:storageMode:s 8:volumeName:s 9:fsType:s 10:readOnly:t
core/v1.ScaleIOVolumeSource 1:gateway:!s 2:system:!s 3:secretRef:*mLocalObjectReference 4:sslEnabled:t 5:protectionDomain:s 6:storagePool:s 7:storageMode:s 8:volumeName:s 9:fsType:s 10:readOnly:t
core/v1.ScopeSelector 1:matchExpressions:[mScopedResourceSelectorRequirement
core/v1.ScopedResourceSelectorRequirement 1:scopeName:!s 2:operator:!s 3:values:[s
core/v1.SeccompProfile 1:type:!s 2:localhostProfile:*s
core/v1.Secret 1:metadata:mmeta/v1.ObjectMeta 5:immutable:*t 2:data:{y 4:stringData:{s 3:type:s
core/v1.SecretEnvSource 1::mLocalObjectReference 2:optional:*t
core/v1.SecretKeySelector 1::mLocalObjectReference 2:key:!s 3:optional:*t
core/v1.SecretProjection 1::mLocalObjectReference 2:items:[mKeyToPath 4:optional:*t
core/v1.SecretReference 1:name:s 2:namespace:s
core/v1.SecretVolumeSource 1:secretName:s 2:items:[mKeyToPath 3:defaultMode:*i 4:optional:*t 5:defaultUser:*i
core/v1.SecurityContext 1:capabilities:*mCapabilities 2:privileged:*t 3:seLinuxOptions:*mSELinuxOptions 10:windowsOptions:*mWindowsSecurityContextOptions 4:runAsUser:*i 8:runAsGroup:*i 5:runAsNonRoot:*t 6:readOnlyRootFilesystem:*t 7:allowPrivilegeEscalation:*t 9:procMount:*s 11:seccompProfile:*mSeccompProfile 12:appArmorProfile:*mAppArmorProfile
core/v1.Service 1:metadata:mmeta/v1.ObjectMeta 2:spec:mServiceSpec 3:status:mServiceStatus
core/v1.ServiceAccount 1:metadata:mmeta/v1.ObjectMeta 2:secrets:[mObjectReference 3:imagePullSecrets:[mLocalObjectReference 4:automountServiceAccountToken:*t
core/v1.ServiceAccountTokenProjection 1:audience:s 2:expirationSeconds:*i 3:path:!s 4:user:*i
core/v1.ServicePort 1:name:s 2:protocol:s 6:appProtocol:*s 3:port:!i 4:targetPort:o 5:nodePort:i
core/v1.ServiceSpec 1:ports:[mServicePort 2:selector:{s 3:clusterIP:s 18:clusterIPs:[s 4:type:s 5:externalIPs:[s 7:sessionAffinity:s 8:loadBalancerIP:s 9:loadBalancerSourceRanges:[s 10:externalName:s 11:externalTrafficPolicy:s 12:healthCheckNodePort:i 13:publishNotReadyAddresses:t 14:sessionAffinityConfig:*mSessionAffinityConfig 19:ipFamilies:[s 17:ipFamilyPolicy:*s 20:allocateLoadBalancerNodePorts:*t 21:loadBalancerClass:*s 22:internalTrafficPolicy:*s 23:trafficDistribution:*s
core/v1.ServiceStatus 1:loadBalancer:mLoadBalancerStatus 2:conditions:[mmeta/v1.Condition
core/v1.SessionAffinityConfig 1:clientIP:*mClientIPConfig
core/v1.SleepAction 1:seconds:!i
core/v1.StorageOSPersistentVolumeSource 1:volumeName:s 2:volumeNamespace:s 3:fsType:s 4:readOnly:t 5:secretRef:*mObjectReference
core/v1.StorageOSVolumeSource 1:volumeName:s 2:volumeNamespace:s 3:fsType:s 4:readOnly:t 5:secretRef:*mLocalObjectReference
core/v1.Sysctl 1:name:!s 2:value:!s
core/v1.TCPSocketAction 1:port:o 2:host:s
core/v1.Taint 1:key:!s 2:value:s 3:effect:!s 4:timeAdded:*T
core/v1.Toleration 1:key:s 2:operator:s 3:value:s 4:effect:s 5:tolerationSeconds:*i
core/v1.TopologySelectorLabelRequirement 1:key:!s 2:values:[s
core/v1.TopologySelectorTerm 1:matchLabelExpressions:[mTopologySelectorLabelRequirement
core/v1.TopologySpreadConstraint 1:maxSkew:!i 2:topologyKey:!s 3:whenUnsatisfiable:!s 4:labelSelector:*mmeta/v1.LabelSelector 5:minDomains:*i 6:nodeAffinityPolicy:*s 7:nodeTaintsPolicy:*s 8:matchLabelKeys:[s
core/v1.TypedLocalObjectReference 1:apiGroup:*s 2:kind:!s 3:name:!s
core/v1.TypedObjectReference 1:apiGroup:*s 2:kind:!s 3:name:!s 4:namespace:*s
core/v1.Volume 1:name:!s 2::mVolumeSource
core/v1.VolumeDevice 1:name:!s 2:devicePath:!s
core/v1.VolumeHealthCondition 1:status:!s 2:reason:!s 3:message:s
core/v1.VolumeHealthStatus 1:healthConditions:[mVolumeHealthCondition 2:lastTransitionTime:T
core/v1.VolumeMount 1:name:!s 2:readOnly:t 7:recursiveReadOnly:*s 3:mountPath:!s 4:subPath:s 5:mountPropagation:*s 6:subPathExpr:s 8:bindMountOptions:[s
core/v1.VolumeMountStatus 1:name:!s 2:mountPath:!s 3:readOnly:t 4:recursiveReadOnly:*s 5:volumeStatus:*mVolumeStatus
core/v1.VolumeNodeAffinity 1:required:*mNodeSelector
core/v1.VolumeProjection 1:secret:*mSecretProjection 2:downwardAPI:*mDownwardAPIProjection 3:configMap:*mConfigMapProjection 4:serviceAccountToken:*mServiceAccountTokenProjection 5:clusterTrustBundle:*mClusterTrustBundleProjection 6:podCertificate:*mPodCertificateProjection
core/v1.VolumeResourceRequirements 1:limits:{q 2:requests:{q
core/v1.VolumeSource 1:hostPath:*mHostPathVolumeSource 2:emptyDir:*mEmptyDirVolumeSource 3:gcePersistentDisk:*mGCEPersistentDiskVolumeSource 4:awsElasticBlockStore:*mAWSElasticBlockStoreVolumeSource 5:gitRepo:*mGitRepoVolumeSource 6:secret:*mSecretVolumeSource 7:nfs:*mNFSVolumeSource 8:iscsi:*mISCSIVolumeSource 9:glusterfs:*mGlusterfsVolumeSource 10:persistentVolumeClaim:*mPersistentVolumeClaimVolumeSource 11:rbd:*mRBDVolumeSource 12:flexVolume:*mFlexVolumeSource 13:cinder:*mCinderVolumeSource 14:cephfs:*mCephFSVolumeSource 15:flocker:*mFlockerVolumeSource 16:downwardAPI:*mDownwardAPIVolumeSource 17:fc:*mFCVolumeSource 18:azureFile:*mAzureFileVolumeSource 19:configMap:*mConfigMapVolumeSource 20:vsphereVolume:*mVsphereVirtualDiskVolumeSource 21:quobyte:*mQuobyteVolumeSource 22:azureDisk:*mAzureDiskVolumeSource 23:photonPersistentDisk:*mPhotonPersistentDiskVolumeSource 26:projected:*mProjectedVolumeSource 24:portworxVolume:*mPortworxVolumeSource 25:scaleIO:*mScaleIOVolumeSource 27:storageos:*mStorageOSVolumeSource 28:csi:*mCSIVolumeSource 29:ephemeral:*mEphemeralVolumeSource 30:image:*mImageVolumeSource
core/v1.VolumeStatus 1:image:*mImageVolumeStatus
core/v1.VsphereVirtualDiskVolumeSource 1:volumePath:!s 2:fsType:s 3:storagePolicyName:s 4:storagePolicyID:s
core/v1.WeightedPodAffinityTerm 1:weight:!i 2:podAffinityTerm:mPodAffinityTerm
core/v1.WindowsSecurityContextOptions 1:gmsaCredentialSpecName:*s 2:gmsaCredentialSpec:*s 3:runAsUserName:*s 4:hostProcess:*t
`;
