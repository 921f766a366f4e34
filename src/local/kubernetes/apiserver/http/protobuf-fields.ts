/**
 * Field numbers of the messages that kubectl's typed commands send, one message a line: `number:jsonName:type`. They are
 * the struct tags of k8s.io/api 0.37, and never change. An empty name is an embedded message whose fields stand in its
 * parent. Types: s text, i integer, t boolean, d double, y bytes, q quantity, T time, u time with microseconds, o number
 * or text, r raw JSON, m message; before them * is a pointer (kept when zero), [ a list and { a map by text.
 */
export const PROTOBUF_FIELDS = `
apps/v1.DaemonSet 1:metadata:mmeta/v1.ObjectMeta 2:spec:mDaemonSetSpec 3:status:mDaemonSetStatus
apps/v1.DaemonSetCondition 1:type:s 2:status:s 3:lastTransitionTime:T 4:reason:s 5:message:s
apps/v1.DaemonSetSpec 1:selector:*mmeta/v1.LabelSelector 2:template:mcore/v1.PodTemplateSpec 3:updateStrategy:mDaemonSetUpdateStrategy 4:minReadySeconds:i 6:revisionHistoryLimit:*i
apps/v1.DaemonSetStatus 1:currentNumberScheduled:i 2:numberMisscheduled:i 3:desiredNumberScheduled:i 4:numberReady:i 5:observedGeneration:i 6:updatedNumberScheduled:i 7:numberAvailable:i 8:numberUnavailable:i 9:collisionCount:*i 10:conditions:[mDaemonSetCondition
apps/v1.DaemonSetUpdateStrategy 1:type:s 2:rollingUpdate:*mRollingUpdateDaemonSet
apps/v1.Deployment 1:metadata:mmeta/v1.ObjectMeta 2:spec:mDeploymentSpec 3:status:mDeploymentStatus
apps/v1.DeploymentCondition 1:type:s 2:status:s 6:lastUpdateTime:T 7:lastTransitionTime:T 4:reason:s 5:message:s
apps/v1.DeploymentSpec 1:replicas:*i 2:selector:*mmeta/v1.LabelSelector 3:template:mcore/v1.PodTemplateSpec 4:strategy:mDeploymentStrategy 5:minReadySeconds:i 6:revisionHistoryLimit:*i 7:paused:t 9:progressDeadlineSeconds:*i
apps/v1.DeploymentStatus 1:observedGeneration:i 2:replicas:i 3:updatedReplicas:i 7:readyReplicas:i 4:availableReplicas:i 5:unavailableReplicas:i 9:terminatingReplicas:*i 6:conditions:[mDeploymentCondition 8:collisionCount:*i
apps/v1.DeploymentStrategy 1:type:s 2:rollingUpdate:*mRollingUpdateDeployment
apps/v1.ReplicaSet 1:metadata:mmeta/v1.ObjectMeta 2:spec:mReplicaSetSpec 3:status:mReplicaSetStatus
apps/v1.ReplicaSetCondition 1:type:s 2:status:s 3:lastTransitionTime:T 4:reason:s 5:message:s
apps/v1.ReplicaSetSpec 1:replicas:*i 4:minReadySeconds:i 2:selector:*mmeta/v1.LabelSelector 3:template:mcore/v1.PodTemplateSpec
apps/v1.ReplicaSetStatus 1:replicas:i 2:fullyLabeledReplicas:i 4:readyReplicas:i 5:availableReplicas:i 7:terminatingReplicas:*i 3:observedGeneration:i 6:conditions:[mReplicaSetCondition
apps/v1.RollingUpdateDaemonSet 1:maxUnavailable:*o 2:maxSurge:*o
apps/v1.RollingUpdateDeployment 1:maxUnavailable:*o 2:maxSurge:*o
apps/v1.RollingUpdateStatefulSetStrategy 1:partition:*i 2:maxUnavailable:*o
apps/v1.StatefulSet 1:metadata:mmeta/v1.ObjectMeta 2:spec:mStatefulSetSpec 3:status:mStatefulSetStatus
apps/v1.StatefulSetCondition 1:type:s 2:status:s 3:lastTransitionTime:T 4:reason:s 5:message:s
apps/v1.StatefulSetOrdinals 1:start:i
apps/v1.StatefulSetPersistentVolumeClaimRetentionPolicy 1:whenDeleted:s 2:whenScaled:s
apps/v1.StatefulSetSpec 1:replicas:*i 2:selector:*mmeta/v1.LabelSelector 3:template:mcore/v1.PodTemplateSpec 4:volumeClaimTemplates:[mcore/v1.PersistentVolumeClaim 5:serviceName:s 6:podManagementPolicy:s 7:updateStrategy:mStatefulSetUpdateStrategy 8:revisionHistoryLimit:*i 9:minReadySeconds:i 10:persistentVolumeClaimRetentionPolicy:*mStatefulSetPersistentVolumeClaimRetentionPolicy 11:ordinals:*mStatefulSetOrdinals
apps/v1.StatefulSetStatus 1:observedGeneration:i 2:replicas:i 3:readyReplicas:i 4:currentReplicas:i 5:updatedReplicas:i 6:currentRevision:s 7:updateRevision:s 9:collisionCount:*i 10:conditions:[mStatefulSetCondition 11:availableReplicas:i
apps/v1.StatefulSetUpdateStrategy 1:type:s 2:rollingUpdate:*mRollingUpdateStatefulSetStrategy
authentication/v1.BoundObjectReference 1:kind:s 2:apiVersion:s 3:name:s 4:uid:s
authentication/v1.SelfSubjectReview 1:metadata:mmeta/v1.ObjectMeta 2:status:mSelfSubjectReviewStatus
authentication/v1.SelfSubjectReviewStatus 1:userInfo:mUserInfo
authentication/v1.TokenRequest 1:metadata:mmeta/v1.ObjectMeta 2:spec:mTokenRequestSpec 3:status:mTokenRequestStatus
authentication/v1.TokenRequestSpec 1:audiences:[s 4:expirationSeconds:*i 3:boundObjectRef:*mBoundObjectReference 5:attestations:{[s
authentication/v1.TokenRequestStatus 1:token:s 2:expirationTimestamp:T
authentication/v1.UserInfo 1:username:s 2:uid:s 3:groups:[s 4:extra:{[s
authorization/v1.FieldSelectorAttributes 1:rawSelector:s 2:requirements:[mmeta/v1.FieldSelectorRequirement
authorization/v1.LabelSelectorAttributes 1:rawSelector:s 2:requirements:[mmeta/v1.LabelSelectorRequirement
authorization/v1.NonResourceAttributes 1:path:s 2:verb:s
authorization/v1.NonResourceRule 1:verbs:[s 2:nonResourceURLs:[s
authorization/v1.ResourceAttributes 1:namespace:s 2:verb:s 3:group:s 4:version:s 5:resource:s 6:subresource:s 7:name:s 8:fieldSelector:*mFieldSelectorAttributes 9:labelSelector:*mLabelSelectorAttributes
authorization/v1.ResourceRule 1:verbs:[s 2:apiGroups:[s 3:resources:[s 4:resourceNames:[s
authorization/v1.SelfSubjectAccessReview 1:metadata:mmeta/v1.ObjectMeta 2:spec:mSelfSubjectAccessReviewSpec 3:status:mSubjectAccessReviewStatus
authorization/v1.SelfSubjectAccessReviewSpec 1:resourceAttributes:*mResourceAttributes 2:nonResourceAttributes:*mNonResourceAttributes
authorization/v1.SelfSubjectRulesReview 1:metadata:mmeta/v1.ObjectMeta 2:spec:mSelfSubjectRulesReviewSpec 3:status:mSubjectRulesReviewStatus
authorization/v1.SelfSubjectRulesReviewSpec 1:namespace:s
authorization/v1.SubjectAccessReview 1:metadata:mmeta/v1.ObjectMeta 2:spec:mSubjectAccessReviewSpec 3:status:mSubjectAccessReviewStatus
authorization/v1.SubjectAccessReviewSpec 1:resourceAttributes:*mResourceAttributes 2:nonResourceAttributes:*mNonResourceAttributes 3:user:s 4:groups:[s 5:extra:{[s 6:uid:s
authorization/v1.SubjectAccessReviewStatus 1:allowed:t 4:denied:t 2:reason:s 3:evaluationError:s
authorization/v1.SubjectRulesReviewStatus 1:resourceRules:[mResourceRule 2:nonResourceRules:[mNonResourceRule 3:incomplete:t 4:evaluationError:s
autoscaling/v1.Scale 1:metadata:mmeta/v1.ObjectMeta 2:spec:mScaleSpec 3:status:mScaleStatus
autoscaling/v1.ScaleSpec 1:replicas:i
autoscaling/v1.ScaleStatus 1:replicas:i 2:selector:s
autoscaling/v2.ContainerResourceMetricSource 1:name:s 2:target:mMetricTarget 3:container:s
autoscaling/v2.ContainerResourceMetricStatus 1:name:s 2:current:mMetricValueStatus 3:container:s
autoscaling/v2.CrossVersionObjectReference 1:kind:s 2:name:s 3:apiVersion:s
autoscaling/v2.ExternalMetricSource 1:metric:mMetricIdentifier 2:target:mMetricTarget
autoscaling/v2.ExternalMetricStatus 1:metric:mMetricIdentifier 2:current:mMetricValueStatus
autoscaling/v2.HPAScalingPolicy 1:type:s 2:value:i 3:periodSeconds:i
autoscaling/v2.HPAScalingRules 3:stabilizationWindowSeconds:*i 1:selectPolicy:*s 2:policies:[mHPAScalingPolicy 4:tolerance:*q
autoscaling/v2.HorizontalPodAutoscaler 1:metadata:mmeta/v1.ObjectMeta 2:spec:mHorizontalPodAutoscalerSpec 3:status:mHorizontalPodAutoscalerStatus
autoscaling/v2.HorizontalPodAutoscalerBehavior 1:scaleUp:*mHPAScalingRules 2:scaleDown:*mHPAScalingRules
autoscaling/v2.HorizontalPodAutoscalerCondition 1:type:s 2:status:s 3:lastTransitionTime:T 4:reason:s 5:message:s 6:observedGeneration:*i
autoscaling/v2.HorizontalPodAutoscalerSpec 1:scaleTargetRef:mCrossVersionObjectReference 2:minReplicas:*i 3:maxReplicas:i 4:metrics:[mMetricSpec 5:behavior:*mHorizontalPodAutoscalerBehavior
autoscaling/v2.HorizontalPodAutoscalerStatus 1:observedGeneration:*i 2:lastScaleTime:*T 3:currentReplicas:i 4:desiredReplicas:i 5:currentMetrics:[mMetricStatus 6:conditions:[mHorizontalPodAutoscalerCondition
autoscaling/v2.MetricIdentifier 1:name:s 2:selector:*mmeta/v1.LabelSelector
autoscaling/v2.MetricSpec 1:type:s 2:object:*mObjectMetricSource 3:pods:*mPodsMetricSource 4:resource:*mResourceMetricSource 7:containerResource:*mContainerResourceMetricSource 5:external:*mExternalMetricSource
autoscaling/v2.MetricStatus 1:type:s 2:object:*mObjectMetricStatus 3:pods:*mPodsMetricStatus 4:resource:*mResourceMetricStatus 7:containerResource:*mContainerResourceMetricStatus 5:external:*mExternalMetricStatus
autoscaling/v2.MetricTarget 1:type:s 2:value:*q 3:averageValue:*q 4:averageUtilization:*i
autoscaling/v2.MetricValueStatus 1:value:*q 2:averageValue:*q 3:averageUtilization:*i
autoscaling/v2.ObjectMetricSource 1:describedObject:mCrossVersionObjectReference 2:target:mMetricTarget 3:metric:mMetricIdentifier
autoscaling/v2.ObjectMetricStatus 1:metric:mMetricIdentifier 2:current:mMetricValueStatus 3:describedObject:mCrossVersionObjectReference
autoscaling/v2.PodsMetricSource 1:metric:mMetricIdentifier 2:target:mMetricTarget
autoscaling/v2.PodsMetricStatus 1:metric:mMetricIdentifier 2:current:mMetricValueStatus
autoscaling/v2.ResourceMetricSource 1:name:s 2:target:mMetricTarget
autoscaling/v2.ResourceMetricStatus 1:name:s 2:current:mMetricValueStatus
batch/v1.CronJob 1:metadata:mmeta/v1.ObjectMeta 2:spec:mCronJobSpec 3:status:mCronJobStatus
batch/v1.CronJobSpec 1:schedule:s 8:timeZone:*s 2:startingDeadlineSeconds:*i 3:concurrencyPolicy:s 4:suspend:*t 5:jobTemplate:mJobTemplateSpec 6:successfulJobsHistoryLimit:*i 7:failedJobsHistoryLimit:*i
batch/v1.CronJobStatus 1:active:[mcore/v1.ObjectReference 4:lastScheduleTime:*T 5:lastSuccessfulTime:*T
batch/v1.Job 1:metadata:mmeta/v1.ObjectMeta 2:spec:mJobSpec 3:status:mJobStatus
batch/v1.JobCondition 1:type:s 2:status:s 3:lastProbeTime:T 4:lastTransitionTime:T 5:reason:s 6:message:s
batch/v1.JobSchedulingConfiguration 
batch/v1.JobSpec 1:parallelism:*i 2:completions:*i 3:activeDeadlineSeconds:*i 11:podFailurePolicy:*mPodFailurePolicy 16:successPolicy:*mSuccessPolicy 7:backoffLimit:*i 12:backoffLimitPerIndex:*i 13:maxFailedIndexes:*i 4:selector:*mmeta/v1.LabelSelector 5:manualSelector:*t 6:template:mcore/v1.PodTemplateSpec 8:ttlSecondsAfterFinished:*i 9:completionMode:*s 10:suspend:*t 14:podReplacementPolicy:*s 15:managedBy:*s 17:scheduling:*mJobSchedulingConfiguration
batch/v1.JobStatus 1:conditions:[mJobCondition 2:startTime:*T 3:completionTime:*T 4:active:i 5:succeeded:i 6:failed:i 11:terminating:*i 7:completedIndexes:s 10:failedIndexes:*s 8:uncountedTerminatedPods:*mUncountedTerminatedPods 9:ready:*i
batch/v1.JobTemplateSpec 1:metadata:mmeta/v1.ObjectMeta 2:spec:mJobSpec
batch/v1.PodFailurePolicy 1:rules:[mPodFailurePolicyRule
batch/v1.PodFailurePolicyOnExitCodesRequirement 1:containerName:*s 2:operator:s 3:values:[i
batch/v1.PodFailurePolicyOnPodConditionsPattern 1:type:s 2:status:s
batch/v1.PodFailurePolicyRule 1:action:s 2:onExitCodes:*mPodFailurePolicyOnExitCodesRequirement 3:onPodConditions:[mPodFailurePolicyOnPodConditionsPattern
batch/v1.SuccessPolicy 1:rules:[mSuccessPolicyRule
batch/v1.SuccessPolicyRule 1:succeededIndexes:*s 2:succeededCount:*i
batch/v1.UncountedTerminatedPods 1:succeeded:[s 2:failed:[s
coordination/v1.Lease 1:metadata:mmeta/v1.ObjectMeta 2:spec:mLeaseSpec
coordination/v1.LeaseSpec 1:holderIdentity:*s 2:leaseDurationSeconds:*i 3:acquireTime:*u 4:renewTime:*u 5:leaseTransitions:*i 6:strategy:*s 7:preferredHolder:*s
core/v1.AWSElasticBlockStoreVolumeSource 1:volumeID:s 2:fsType:s 3:partition:i 4:readOnly:t
core/v1.Affinity 1:nodeAffinity:*mNodeAffinity 2:podAffinity:*mPodAffinity 3:podAntiAffinity:*mPodAntiAffinity
core/v1.AppArmorProfile 1:type:s 2:localhostProfile:*s
core/v1.AttachedVolume 1:name:s 2:devicePath:s
core/v1.AzureDiskVolumeSource 1:diskName:s 2:diskURI:s 3:cachingMode:*s 4:fsType:*s 5:readOnly:*t 6:kind:*s
core/v1.AzureFileVolumeSource 1:secretName:s 2:shareName:s 3:readOnly:t
core/v1.Binding 1:metadata:mmeta/v1.ObjectMeta 2:target:mObjectReference
core/v1.CSIVolumeSource 1:driver:s 2:readOnly:*t 3:fsType:*s 4:volumeAttributes:{s 5:nodePublishSecretRef:*mLocalObjectReference
core/v1.Capabilities 1:add:[s 2:drop:[s
core/v1.CephFSVolumeSource 1:monitors:[s 2:path:s 3:user:s 4:secretFile:s 5:secretRef:*mLocalObjectReference 6:readOnly:t
core/v1.CinderVolumeSource 1:volumeID:s 2:fsType:s 3:readOnly:t 4:secretRef:*mLocalObjectReference
core/v1.ClientIPConfig 1:timeoutSeconds:*i
core/v1.ClusterTrustBundleProjection 1:name:*s 2:signerName:*s 3:labelSelector:*mmeta/v1.LabelSelector 5:optional:*t 4:path:s 6:user:*i
core/v1.ConfigMap 1:metadata:mmeta/v1.ObjectMeta 4:immutable:*t 2:data:{s 3:binaryData:{y
core/v1.ConfigMapEnvSource 1::mLocalObjectReference 2:optional:*t
core/v1.ConfigMapKeySelector 1::mLocalObjectReference 2:key:s 3:optional:*t
core/v1.ConfigMapNodeConfigSource 1:namespace:s 2:name:s 3:uid:s 4:resourceVersion:s 5:kubeletConfigKey:s
core/v1.ConfigMapProjection 1::mLocalObjectReference 2:items:[mKeyToPath 4:optional:*t
core/v1.ConfigMapVolumeSource 1::mLocalObjectReference 2:items:[mKeyToPath 3:defaultMode:*i 4:optional:*t 5:defaultUser:*i
core/v1.Container 1:name:s 2:image:s 3:command:[s 4:args:[s 5:workingDir:s 6:ports:[mContainerPort 19:envFrom:[mEnvFromSource 7:env:[mEnvVar 8:resources:mResourceRequirements 23:resizePolicy:[mContainerResizePolicy 24:restartPolicy:*s 25:restartPolicyRules:[mContainerRestartRule 9:volumeMounts:[mVolumeMount 21:volumeDevices:[mVolumeDevice 10:livenessProbe:*mProbe 11:readinessProbe:*mProbe 22:startupProbe:*mProbe 12:lifecycle:*mLifecycle 13:terminationMessagePath:s 20:terminationMessagePolicy:s 14:imagePullPolicy:s 15:securityContext:*mSecurityContext 16:stdin:t 17:stdinOnce:t 18:tty:t
core/v1.ContainerExtendedResourceRequest 1:containerName:s 2:resourceName:s 3:requestName:s
core/v1.ContainerImage 1:names:[s 2:sizeBytes:i
core/v1.ContainerPort 1:name:s 2:hostPort:i 3:containerPort:i 4:protocol:s 5:hostIP:s
core/v1.ContainerResizePolicy 1:resourceName:s 2:restartPolicy:s
core/v1.ContainerRestartRule 1:action:s 2:exitCodes:*mContainerRestartRuleOnExitCodes
core/v1.ContainerRestartRuleOnExitCodes 1:operator:s 2:values:[i
core/v1.ContainerState 1:waiting:*mContainerStateWaiting 2:running:*mContainerStateRunning 3:terminated:*mContainerStateTerminated
core/v1.ContainerStateRunning 1:startedAt:T
core/v1.ContainerStateTerminated 1:exitCode:i 2:signal:i 3:reason:s 4:message:s 5:startedAt:T 6:finishedAt:T 7:containerID:s
core/v1.ContainerStateWaiting 1:reason:s 2:message:s
core/v1.ContainerStatus 1:name:s 2:state:mContainerState 3:lastState:mContainerState 4:ready:t 5:restartCount:i 6:image:s 7:imageID:s 8:containerID:s 9:started:*t 10:allocatedResources:{q 11:resources:*mResourceRequirements 12:volumeMounts:[mVolumeMountStatus 13:user:*mContainerUser 14:allocatedResourcesStatus:[mResourceStatus 15:stopSignal:*s
core/v1.ContainerUser 1:linux:*mLinuxContainerUser
core/v1.DaemonEndpoint 1:Port:i
core/v1.DownwardAPIProjection 1:items:[mDownwardAPIVolumeFile
core/v1.DownwardAPIVolumeFile 1:path:s 2:fieldRef:*mObjectFieldSelector 3:resourceFieldRef:*mResourceFieldSelector 4:mode:*i 5:user:*i
core/v1.DownwardAPIVolumeSource 1:items:[mDownwardAPIVolumeFile 2:defaultMode:*i 3:defaultUser:*i
core/v1.EmptyDirVolumeSource 1:medium:s 2:sizeLimit:*q 3:mode:*i
core/v1.EndpointAddress 1:ip:s 3:hostname:s 4:nodeName:*s 2:targetRef:*mObjectReference
core/v1.EndpointPort 1:name:s 2:port:i 3:protocol:s 4:appProtocol:*s
core/v1.EndpointSubset 1:addresses:[mEndpointAddress 2:notReadyAddresses:[mEndpointAddress 3:ports:[mEndpointPort
core/v1.Endpoints 1:metadata:mmeta/v1.ObjectMeta 2:subsets:[mEndpointSubset
core/v1.EnvFromSource 1:prefix:s 2:configMapRef:*mConfigMapEnvSource 3:secretRef:*mSecretEnvSource
core/v1.EnvVar 1:name:s 2:value:s 3:valueFrom:*mEnvVarSource
core/v1.EnvVarSource 1:fieldRef:*mObjectFieldSelector 2:resourceFieldRef:*mResourceFieldSelector 3:configMapKeyRef:*mConfigMapKeySelector 4:secretKeyRef:*mSecretKeySelector 5:fileKeyRef:*mFileKeySelector
core/v1.EphemeralContainer 1::mEphemeralContainerCommon 2:targetContainerName:s
core/v1.EphemeralContainerCommon 1:name:s 2:image:s 3:command:[s 4:args:[s 5:workingDir:s 6:ports:[mContainerPort 19:envFrom:[mEnvFromSource 7:env:[mEnvVar 8:resources:mResourceRequirements 23:resizePolicy:[mContainerResizePolicy 24:restartPolicy:*s 25:restartPolicyRules:[mContainerRestartRule 9:volumeMounts:[mVolumeMount 21:volumeDevices:[mVolumeDevice 10:livenessProbe:*mProbe 11:readinessProbe:*mProbe 22:startupProbe:*mProbe 12:lifecycle:*mLifecycle 13:terminationMessagePath:s 20:terminationMessagePolicy:s 14:imagePullPolicy:s 15:securityContext:*mSecurityContext 16:stdin:t 17:stdinOnce:t 18:tty:t
core/v1.EphemeralVolumeSource 1:volumeClaimTemplate:*mPersistentVolumeClaimTemplate
core/v1.Event 1:metadata:mmeta/v1.ObjectMeta 2:involvedObject:mObjectReference 3:reason:s 4:message:s 5:source:mEventSource 6:firstTimestamp:T 7:lastTimestamp:T 8:count:i 9:type:s 10:eventTime:u 11:series:*mEventSeries 12:action:s 13:related:*mObjectReference 14:reportingComponent:s 15:reportingInstance:s
core/v1.EventSeries 1:count:i 2:lastObservedTime:u
core/v1.EventSource 1:component:s 2:host:s
core/v1.EvictionResponder 1:name:s 2:priority:*i
core/v1.ExecAction 1:command:[s
core/v1.FCVolumeSource 1:targetWWNs:[s 2:lun:*i 3:fsType:s 4:readOnly:t 5:wwids:[s
core/v1.FileKeySelector 1:volumeName:s 2:path:s 3:key:s 4:optional:*t
core/v1.FlexVolumeSource 1:driver:s 2:fsType:s 3:secretRef:*mLocalObjectReference 4:readOnly:t 5:options:{s
core/v1.FlockerVolumeSource 1:datasetName:s 2:datasetUUID:s
core/v1.GCEPersistentDiskVolumeSource 1:pdName:s 2:fsType:s 3:partition:i 4:readOnly:t
core/v1.GRPCAction 1:port:i 2:service:*s 3:mode:*s
core/v1.GitRepoVolumeSource 1:repository:s 2:revision:s 3:directory:s
core/v1.GlusterfsVolumeSource 1:endpoints:s 2:path:s 3:readOnly:t
core/v1.HTTPGetAction 1:path:s 2:port:o 3:host:s 4:scheme:s 5:httpHeaders:[mHTTPHeader 6:protocol:*s
core/v1.HTTPHeader 1:name:s 2:value:s
core/v1.HostAlias 1:ip:s 2:hostnames:[s
core/v1.HostIP 1:ip:s
core/v1.HostPathVolumeSource 1:path:s 2:type:*s
core/v1.ISCSIVolumeSource 1:targetPortal:s 2:iqn:s 3:lun:i 4:iscsiInterface:s 5:fsType:s 6:readOnly:t 7:portals:[s 8:chapAuthDiscovery:t 11:chapAuthSession:t 10:secretRef:*mLocalObjectReference 12:initiatorName:*s
core/v1.ImageVolumeSource 1:reference:s 2:pullPolicy:s
core/v1.ImageVolumeStatus 1:imageRef:s
core/v1.KeyToPath 1:key:s 2:path:s 3:mode:*i 4:user:*i
core/v1.Lifecycle 1:postStart:*mLifecycleHandler 2:preStop:*mLifecycleHandler 3:stopSignal:*s
core/v1.LifecycleHandler 1:exec:*mExecAction 2:httpGet:*mHTTPGetAction 3:tcpSocket:*mTCPSocketAction 4:sleep:*mSleepAction
core/v1.LinuxContainerUser 1:uid:i 2:gid:i 3:supplementalGroups:[i
core/v1.LoadBalancerIngress 1:ip:s 2:hostname:s 3:ipMode:*s 4:ports:[mPortStatus
core/v1.LoadBalancerStatus 1:ingress:[mLoadBalancerIngress
core/v1.LocalObjectReference 1:name:s
core/v1.ModifyVolumeStatus 1:targetVolumeAttributesClassName:s 2:status:s
core/v1.NFSVolumeSource 1:server:s 2:path:s 3:readOnly:t
core/v1.Namespace 1:metadata:mmeta/v1.ObjectMeta 2:spec:mNamespaceSpec 3:status:mNamespaceStatus
core/v1.NamespaceCondition 1:type:s 2:status:s 4:lastTransitionTime:T 5:reason:s 6:message:s
core/v1.NamespaceSpec 1:finalizers:[s
core/v1.NamespaceStatus 1:phase:s 2:conditions:[mNamespaceCondition
core/v1.Node 1:metadata:mmeta/v1.ObjectMeta 2:spec:mNodeSpec 3:status:mNodeStatus
core/v1.NodeAddress 1:type:s 2:address:s
core/v1.NodeAffinity 1:requiredDuringSchedulingIgnoredDuringExecution:*mNodeSelector 2:preferredDuringSchedulingIgnoredDuringExecution:[mPreferredSchedulingTerm
core/v1.NodeAllocatableMappedResources 1:name:s 2:quantity:*q
core/v1.NodeAllocatableOverheadResources 1:name:s 2:perPod:*q 3:perContainer:*q
core/v1.NodeAllocatableResourceClaimStatus 1:resourceClaimName:s 2:containers:[s 4:mapping:[mNodeAllocatableMappedResources 5:overhead:[mNodeAllocatableOverheadResources
core/v1.NodeCondition 1:type:s 2:status:s 3:lastHeartbeatTime:T 4:lastTransitionTime:T 5:reason:s 6:message:s
core/v1.NodeConfigSource 2:configMap:*mConfigMapNodeConfigSource
core/v1.NodeConfigStatus 1:assigned:*mNodeConfigSource 2:active:*mNodeConfigSource 3:lastKnownGood:*mNodeConfigSource 4:error:s
core/v1.NodeDaemonEndpoints 1:kubeletEndpoint:mDaemonEndpoint
core/v1.NodeFeatures 1:supplementalGroupsPolicy:*t
core/v1.NodePodPreemptionPolicy 1:disableResizePreemption:[s
core/v1.NodeRuntimeHandler 1:name:s 2:features:*mNodeRuntimeHandlerFeatures
core/v1.NodeRuntimeHandlerFeatures 1:recursiveReadOnlyMounts:*t 2:userNamespaces:*t
core/v1.NodeSelector 1:nodeSelectorTerms:[mNodeSelectorTerm
core/v1.NodeSelectorRequirement 1:key:s 2:operator:s 3:values:[s
core/v1.NodeSelectorTerm 1:matchExpressions:[mNodeSelectorRequirement 2:matchFields:[mNodeSelectorRequirement
core/v1.NodeSpec 1:podCIDR:s 7:podCIDRs:[s 3:providerID:s 4:unschedulable:t 5:taints:[mTaint 6:configSource:*mNodeConfigSource 2:externalID:s 8:podPreemptionPolicy:*mNodePodPreemptionPolicy
core/v1.NodeStatus 1:capacity:{q 2:allocatable:{q 3:phase:s 4:conditions:[mNodeCondition 5:addresses:[mNodeAddress 6:daemonEndpoints:mNodeDaemonEndpoints 7:nodeInfo:mNodeSystemInfo 8:images:[mContainerImage 9:volumesInUse:[s 10:volumesAttached:[mAttachedVolume 11:config:*mNodeConfigStatus 12:runtimeHandlers:[mNodeRuntimeHandler 13:features:*mNodeFeatures 14:declaredFeatures:[s
core/v1.NodeSwapStatus 1:capacity:*i
core/v1.NodeSystemInfo 1:machineID:s 2:systemUUID:s 3:bootID:s 4:kernelVersion:s 5:osImage:s 6:containerRuntimeVersion:s 7:kubeletVersion:s 8:kubeProxyVersion:s 9:operatingSystem:s 10:architecture:s 11:swap:*mNodeSwapStatus 12:runningInUserNamespace:*t
core/v1.ObjectFieldSelector 1:apiVersion:s 2:fieldPath:s
core/v1.ObjectReference 1:kind:s 2:namespace:s 3:name:s 4:uid:s 5:apiVersion:s 6:resourceVersion:s 7:fieldPath:s
core/v1.PersistentVolumeClaim 1:metadata:mmeta/v1.ObjectMeta 2:spec:mPersistentVolumeClaimSpec 3:status:mPersistentVolumeClaimStatus
core/v1.PersistentVolumeClaimCondition 1:type:s 2:status:s 3:lastProbeTime:T 4:lastTransitionTime:T 5:reason:s 6:message:s
core/v1.PersistentVolumeClaimSpec 1:accessModes:[s 4:selector:*mmeta/v1.LabelSelector 2:resources:mVolumeResourceRequirements 3:volumeName:s 5:storageClassName:*s 6:volumeMode:*s 7:dataSource:*mTypedLocalObjectReference 8:dataSourceRef:*mTypedObjectReference 9:volumeAttributesClassName:*s
core/v1.PersistentVolumeClaimStatus 1:phase:s 2:accessModes:[s 3:capacity:{q 4:conditions:[mPersistentVolumeClaimCondition 5:allocatedResources:{q 7:allocatedResourceStatuses:{s 8:currentVolumeAttributesClassName:*s 9:modifyVolumeStatus:*mModifyVolumeStatus 10:healthStatus:*mVolumeHealthStatus
core/v1.PersistentVolumeClaimTemplate 1:metadata:mmeta/v1.ObjectMeta 2:spec:mPersistentVolumeClaimSpec
core/v1.PersistentVolumeClaimVolumeSource 1:claimName:s 2:readOnly:t
core/v1.PhotonPersistentDiskVolumeSource 1:pdID:s 2:fsType:s
core/v1.Pod 1:metadata:mmeta/v1.ObjectMeta 2:spec:mPodSpec 3:status:mPodStatus
core/v1.PodAffinity 1:requiredDuringSchedulingIgnoredDuringExecution:[mPodAffinityTerm 2:preferredDuringSchedulingIgnoredDuringExecution:[mWeightedPodAffinityTerm
core/v1.PodAffinityTerm 1:labelSelector:*mmeta/v1.LabelSelector 2:namespaces:[s 3:topologyKey:s 4:namespaceSelector:*mmeta/v1.LabelSelector 5:matchLabelKeys:[s 6:mismatchLabelKeys:[s
core/v1.PodAntiAffinity 1:requiredDuringSchedulingIgnoredDuringExecution:[mPodAffinityTerm 2:preferredDuringSchedulingIgnoredDuringExecution:[mWeightedPodAffinityTerm
core/v1.PodCertificateProjection 1:signerName:s 2:keyType:s 3:maxExpirationSeconds:*i 4:credentialBundlePath:s 5:keyPath:s 6:certificateChainPath:s 7:userAnnotations:{s 8:user:*i
core/v1.PodCondition 1:type:s 7:observedGeneration:i 2:status:s 3:lastProbeTime:T 4:lastTransitionTime:T 5:reason:s 6:message:s
core/v1.PodDNSConfig 1:nameservers:[s 2:searches:[s 3:options:[mPodDNSConfigOption
core/v1.PodDNSConfigOption 1:name:s 2:value:*s
core/v1.PodExtendedResourceClaimStatus 1:requestMappings:[mContainerExtendedResourceRequest 2:resourceClaimName:s
core/v1.PodIP 1:ip:s
core/v1.PodOS 1:name:s
core/v1.PodReadinessGate 1:conditionType:s
core/v1.PodResourceClaim 1:name:s 3:resourceClaimName:*s 4:resourceClaimTemplateName:*s
core/v1.PodResourceClaimStatus 1:name:s 2:resourceClaimName:*s
core/v1.PodSchedulingGate 1:name:s
core/v1.PodSchedulingGroup 1:podGroupName:*s
core/v1.PodSecurityContext 1:seLinuxOptions:*mSELinuxOptions 8:windowsOptions:*mWindowsSecurityContextOptions 2:runAsUser:*i 6:runAsGroup:*i 3:runAsNonRoot:*t 4:supplementalGroups:[i 12:supplementalGroupsPolicy:*s 5:fsGroup:*i 7:sysctls:[mSysctl 9:fsGroupChangePolicy:*s 10:seccompProfile:*mSeccompProfile 11:appArmorProfile:*mAppArmorProfile 13:seLinuxChangePolicy:*s
core/v1.PodSpec 1:volumes:[mVolume 20:initContainers:[mContainer 2:containers:[mContainer 34:ephemeralContainers:[mEphemeralContainer 3:restartPolicy:s 4:terminationGracePeriodSeconds:*i 5:activeDeadlineSeconds:*i 6:dnsPolicy:s 7:nodeSelector:{s 8:serviceAccountName:s 9:serviceAccount:s 21:automountServiceAccountToken:*t 10:nodeName:s 11:hostNetwork:t 12:hostPID:t 13:hostIPC:t 27:shareProcessNamespace:*t 14:securityContext:*mPodSecurityContext 15:imagePullSecrets:[mLocalObjectReference 16:hostname:s 17:subdomain:s 18:affinity:*mAffinity 19:schedulerName:s 22:tolerations:[mToleration 23:hostAliases:[mHostAlias 24:priorityClassName:s 25:priority:*i 26:dnsConfig:*mPodDNSConfig 28:readinessGates:[mPodReadinessGate 29:runtimeClassName:*s 30:enableServiceLinks:*t 31:preemptionPolicy:*s 32:overhead:{q 33:topologySpreadConstraints:[mTopologySpreadConstraint 35:setHostnameAsFQDN:*t 36:os:*mPodOS 37:hostUsers:*t 38:schedulingGates:[mPodSchedulingGate 39:resourceClaims:[mPodResourceClaim 40:resources:*mResourceRequirements 41:hostnameOverride:*s 43:schedulingGroup:*mPodSchedulingGroup 44:evictionResponders:[mEvictionResponder
core/v1.PodStatus 17:observedGeneration:i 1:phase:s 2:conditions:[mPodCondition 3:message:s 4:reason:s 11:nominatedNodeName:s 5:hostIP:s 16:hostIPs:[mHostIP 6:podIP:s 12:podIPs:[mPodIP 7:startTime:*T 10:initContainerStatuses:[mContainerStatus 8:containerStatuses:[mContainerStatus 9:qosClass:s 13:ephemeralContainerStatuses:[mContainerStatus 14:resize:s 15:resourceClaimStatuses:[mPodResourceClaimStatus 18:extendedResourceClaimStatus:*mPodExtendedResourceClaimStatus 19:allocatedResources:{q 20:resources:*mResourceRequirements 21:nodeAllocatableResourceClaimStatuses:[mNodeAllocatableResourceClaimStatus 22:volumeHealth:[mPodVolumeHealth
core/v1.PodTemplateSpec 1:metadata:mmeta/v1.ObjectMeta 2:spec:mPodSpec
core/v1.PodVolumeHealth 1:name:s 2:healthConditions:[mVolumeHealthCondition 3:lastTransitionTime:T
core/v1.PortStatus 1:port:i 2:protocol:s 3:error:*s
core/v1.PortworxVolumeSource 1:volumeID:s 2:fsType:s 3:readOnly:t
core/v1.PreferredSchedulingTerm 1:weight:i 2:preference:mNodeSelectorTerm
core/v1.Probe 1::mProbeHandler 2:initialDelaySeconds:i 3:timeoutSeconds:i 4:periodSeconds:i 5:successThreshold:i 6:failureThreshold:i 7:terminationGracePeriodSeconds:*i
core/v1.ProbeHandler 1:exec:*mExecAction 2:httpGet:*mHTTPGetAction 3:tcpSocket:*mTCPSocketAction 4:grpc:*mGRPCAction
core/v1.ProjectedVolumeSource 1:sources:[mVolumeProjection 2:defaultMode:*i 3:defaultUser:*i
core/v1.QuobyteVolumeSource 1:registry:s 2:volume:s 3:readOnly:t 4:user:s 5:group:s 6:tenant:s
core/v1.RBDVolumeSource 1:monitors:[s 2:image:s 3:fsType:s 4:pool:s 5:user:s 6:keyring:s 7:secretRef:*mLocalObjectReference 8:readOnly:t
core/v1.ResourceClaim 1:name:s 2:request:s
core/v1.ResourceFieldSelector 1:containerName:s 2:resource:s 3:divisor:q
core/v1.ResourceHealth 1:resourceID:s 2:health:s 6:message:*s
core/v1.ResourceQuota 1:metadata:mmeta/v1.ObjectMeta 2:spec:mResourceQuotaSpec 3:status:mResourceQuotaStatus
core/v1.ResourceQuotaSpec 1:hard:{q 2:scopes:[s 3:scopeSelector:*mScopeSelector
core/v1.ResourceQuotaStatus 1:hard:{q 2:used:{q
core/v1.ResourceRequirements 1:limits:{q 2:requests:{q 3:claims:[mResourceClaim
core/v1.ResourceStatus 1:name:s 2:resources:[mResourceHealth
core/v1.SELinuxOptions 1:user:s 2:role:s 3:type:s 4:level:s
core/v1.ScaleIOVolumeSource 1:gateway:s 2:system:s 3:secretRef:*mLocalObjectReference 4:sslEnabled:t 5:protectionDomain:s 6:storagePool:s 7:storageMode:s 8:volumeName:s 9:fsType:s 10:readOnly:t
core/v1.ScopeSelector 1:matchExpressions:[mScopedResourceSelectorRequirement
core/v1.ScopedResourceSelectorRequirement 1:scopeName:s 2:operator:s 3:values:[s
core/v1.SeccompProfile 1:type:s 2:localhostProfile:*s
core/v1.Secret 1:metadata:mmeta/v1.ObjectMeta 5:immutable:*t 2:data:{y 4:stringData:{s 3:type:s
core/v1.SecretEnvSource 1::mLocalObjectReference 2:optional:*t
core/v1.SecretKeySelector 1::mLocalObjectReference 2:key:s 3:optional:*t
core/v1.SecretProjection 1::mLocalObjectReference 2:items:[mKeyToPath 4:optional:*t
core/v1.SecretVolumeSource 1:secretName:s 2:items:[mKeyToPath 3:defaultMode:*i 4:optional:*t 5:defaultUser:*i
core/v1.SecurityContext 1:capabilities:*mCapabilities 2:privileged:*t 3:seLinuxOptions:*mSELinuxOptions 10:windowsOptions:*mWindowsSecurityContextOptions 4:runAsUser:*i 8:runAsGroup:*i 5:runAsNonRoot:*t 6:readOnlyRootFilesystem:*t 7:allowPrivilegeEscalation:*t 9:procMount:*s 11:seccompProfile:*mSeccompProfile 12:appArmorProfile:*mAppArmorProfile
core/v1.Service 1:metadata:mmeta/v1.ObjectMeta 2:spec:mServiceSpec 3:status:mServiceStatus
core/v1.ServiceAccount 1:metadata:mmeta/v1.ObjectMeta 2:secrets:[mObjectReference 3:imagePullSecrets:[mLocalObjectReference 4:automountServiceAccountToken:*t
core/v1.ServiceAccountTokenProjection 1:audience:s 2:expirationSeconds:*i 3:path:s 4:user:*i
core/v1.ServicePort 1:name:s 2:protocol:s 6:appProtocol:*s 3:port:i 4:targetPort:o 5:nodePort:i
core/v1.ServiceSpec 1:ports:[mServicePort 2:selector:{s 3:clusterIP:s 18:clusterIPs:[s 4:type:s 5:externalIPs:[s 7:sessionAffinity:s 8:loadBalancerIP:s 9:loadBalancerSourceRanges:[s 10:externalName:s 11:externalTrafficPolicy:s 12:healthCheckNodePort:i 13:publishNotReadyAddresses:t 14:sessionAffinityConfig:*mSessionAffinityConfig 19:ipFamilies:[s 17:ipFamilyPolicy:*s 20:allocateLoadBalancerNodePorts:*t 21:loadBalancerClass:*s 22:internalTrafficPolicy:*s 23:trafficDistribution:*s
core/v1.ServiceStatus 1:loadBalancer:mLoadBalancerStatus 2:conditions:[mmeta/v1.Condition
core/v1.SessionAffinityConfig 1:clientIP:*mClientIPConfig
core/v1.SleepAction 1:seconds:i
core/v1.StorageOSVolumeSource 1:volumeName:s 2:volumeNamespace:s 3:fsType:s 4:readOnly:t 5:secretRef:*mLocalObjectReference
core/v1.Sysctl 1:name:s 2:value:s
core/v1.TCPSocketAction 1:port:o 2:host:s
core/v1.Taint 1:key:s 2:value:s 3:effect:s 4:timeAdded:*T
core/v1.Toleration 1:key:s 2:operator:s 3:value:s 4:effect:s 5:tolerationSeconds:*i
core/v1.TopologySpreadConstraint 1:maxSkew:i 2:topologyKey:s 3:whenUnsatisfiable:s 4:labelSelector:*mmeta/v1.LabelSelector 5:minDomains:*i 6:nodeAffinityPolicy:*s 7:nodeTaintsPolicy:*s 8:matchLabelKeys:[s
core/v1.TypedLocalObjectReference 1:apiGroup:*s 2:kind:s 3:name:s
core/v1.TypedObjectReference 1:apiGroup:*s 2:kind:s 3:name:s 4:namespace:*s
core/v1.Volume 1:name:s 2::mVolumeSource
core/v1.VolumeDevice 1:name:s 2:devicePath:s
core/v1.VolumeHealthCondition 1:status:s 2:reason:s 3:message:s
core/v1.VolumeHealthStatus 1:healthConditions:[mVolumeHealthCondition 2:lastTransitionTime:T
core/v1.VolumeMount 1:name:s 2:readOnly:t 7:recursiveReadOnly:*s 3:mountPath:s 4:subPath:s 5:mountPropagation:*s 6:subPathExpr:s 8:bindMountOptions:[s
core/v1.VolumeMountStatus 1:name:s 2:mountPath:s 3:readOnly:t 4:recursiveReadOnly:*s 5:volumeStatus:*mVolumeStatus
core/v1.VolumeProjection 1:secret:*mSecretProjection 2:downwardAPI:*mDownwardAPIProjection 3:configMap:*mConfigMapProjection 4:serviceAccountToken:*mServiceAccountTokenProjection 5:clusterTrustBundle:*mClusterTrustBundleProjection 6:podCertificate:*mPodCertificateProjection
core/v1.VolumeResourceRequirements 1:limits:{q 2:requests:{q
core/v1.VolumeSource 1:hostPath:*mHostPathVolumeSource 2:emptyDir:*mEmptyDirVolumeSource 3:gcePersistentDisk:*mGCEPersistentDiskVolumeSource 4:awsElasticBlockStore:*mAWSElasticBlockStoreVolumeSource 5:gitRepo:*mGitRepoVolumeSource 6:secret:*mSecretVolumeSource 7:nfs:*mNFSVolumeSource 8:iscsi:*mISCSIVolumeSource 9:glusterfs:*mGlusterfsVolumeSource 10:persistentVolumeClaim:*mPersistentVolumeClaimVolumeSource 11:rbd:*mRBDVolumeSource 12:flexVolume:*mFlexVolumeSource 13:cinder:*mCinderVolumeSource 14:cephfs:*mCephFSVolumeSource 15:flocker:*mFlockerVolumeSource 16:downwardAPI:*mDownwardAPIVolumeSource 17:fc:*mFCVolumeSource 18:azureFile:*mAzureFileVolumeSource 19:configMap:*mConfigMapVolumeSource 20:vsphereVolume:*mVsphereVirtualDiskVolumeSource 21:quobyte:*mQuobyteVolumeSource 22:azureDisk:*mAzureDiskVolumeSource 23:photonPersistentDisk:*mPhotonPersistentDiskVolumeSource 26:projected:*mProjectedVolumeSource 24:portworxVolume:*mPortworxVolumeSource 25:scaleIO:*mScaleIOVolumeSource 27:storageos:*mStorageOSVolumeSource 28:csi:*mCSIVolumeSource 29:ephemeral:*mEphemeralVolumeSource 30:image:*mImageVolumeSource
core/v1.VolumeStatus 1:image:*mImageVolumeStatus
core/v1.VsphereVirtualDiskVolumeSource 1:volumePath:s 2:fsType:s 3:storagePolicyName:s 4:storagePolicyID:s
core/v1.WeightedPodAffinityTerm 1:weight:i 2:podAffinityTerm:mPodAffinityTerm
core/v1.WindowsSecurityContextOptions 1:gmsaCredentialSpecName:*s 2:gmsaCredentialSpec:*s 3:runAsUserName:*s 4:hostProcess:*t
events/v1.Event 1:metadata:mmeta/v1.ObjectMeta 2:eventTime:u 3:series:*mEventSeries 4:reportingController:s 5:reportingInstance:s 6:action:s 7:reason:s 8:regarding:mcore/v1.ObjectReference 9:related:*mcore/v1.ObjectReference 10:note:s 11:type:s 12:deprecatedSource:mcore/v1.EventSource 13:deprecatedFirstTimestamp:T 14:deprecatedLastTimestamp:T 15:deprecatedCount:i
events/v1.EventSeries 1:count:i 2:lastObservedTime:u
meta/v1.Condition 1:type:s 2:status:s 3:observedGeneration:i 4:lastTransitionTime:T 5:reason:s 6:message:s
meta/v1.DeleteOptions 1:gracePeriodSeconds:*i 2:preconditions:*mPreconditions 3:orphanDependents:*t 4:propagationPolicy:*s 5:dryRun:[s 6:ignoreStoreReadErrorWithClusterBreakingPotential:*t
meta/v1.FieldSelectorRequirement 1:key:s 2:operator:s 3:values:[s
meta/v1.LabelSelector 1:matchLabels:{s 2:matchExpressions:[mLabelSelectorRequirement
meta/v1.LabelSelectorRequirement 1:key:s 2:operator:s 3:values:[s
meta/v1.ManagedFieldsEntry 1:manager:s 2:operation:s 3:apiVersion:s 4:time:*T 6:fieldsType:s 7:fieldsV1:*r 8:subresource:s
meta/v1.ObjectMeta 1:name:s 2:generateName:s 3:namespace:s 4:selfLink:s 5:uid:s 6:resourceVersion:s 7:generation:i 8:creationTimestamp:T 9:deletionTimestamp:*T 10:deletionGracePeriodSeconds:*i 11:labels:{s 12:annotations:{s 13:ownerReferences:[mOwnerReference 14:finalizers:[s 17:managedFields:[mManagedFieldsEntry
meta/v1.OwnerReference 5:apiVersion:s 1:kind:s 3:name:s 4:uid:s 6:controller:*t 7:blockOwnerDeletion:*t
meta/v1.Preconditions 1:uid:*s 2:resourceVersion:*s
networking/v1.HTTPIngressPath 1:path:s 3:pathType:*s 2:backend:mIngressBackend
networking/v1.HTTPIngressRuleValue 1:paths:[mHTTPIngressPath
networking/v1.Ingress 1:metadata:mmeta/v1.ObjectMeta 2:spec:mIngressSpec 3:status:mIngressStatus
networking/v1.IngressBackend 4:service:*mIngressServiceBackend 3:resource:*mcore/v1.TypedLocalObjectReference
networking/v1.IngressLoadBalancerIngress 1:ip:s 2:hostname:s 4:ports:[mIngressPortStatus
networking/v1.IngressLoadBalancerStatus 1:ingress:[mIngressLoadBalancerIngress
networking/v1.IngressPortStatus 1:port:i 2:protocol:s 3:error:*s
networking/v1.IngressRule 1:host:s 2::mIngressRuleValue
networking/v1.IngressRuleValue 1:http:*mHTTPIngressRuleValue
networking/v1.IngressServiceBackend 1:name:s 2:port:mServiceBackendPort
networking/v1.IngressSpec 4:ingressClassName:*s 1:defaultBackend:*mIngressBackend 2:tls:[mIngressTLS 3:rules:[mIngressRule
networking/v1.IngressStatus 1:loadBalancer:mIngressLoadBalancerStatus
networking/v1.IngressTLS 1:hosts:[s 2:secretName:s
networking/v1.ServiceBackendPort 1:name:s 2:number:i
policy/v1.Eviction 1:metadata:mmeta/v1.ObjectMeta 2:deleteOptions:*mmeta/v1.DeleteOptions
policy/v1.PodDisruptionBudget 1:metadata:mmeta/v1.ObjectMeta 2:spec:mPodDisruptionBudgetSpec 3:status:mPodDisruptionBudgetStatus
policy/v1.PodDisruptionBudgetSpec 1:minAvailable:*o 2:selector:*mmeta/v1.LabelSelector 3:maxUnavailable:*o 4:unhealthyPodEvictionPolicy:*s
policy/v1.PodDisruptionBudgetStatus 1:observedGeneration:i 2:disruptedPods:{T 3:disruptionsAllowed:i 4:currentHealthy:i 5:desiredHealthy:i 6:expectedPods:i 7:conditions:[mmeta/v1.Condition
rbac/v1.AggregationRule 1:clusterRoleSelectors:[mmeta/v1.LabelSelector
rbac/v1.ClusterRole 1:metadata:mmeta/v1.ObjectMeta 2:rules:[mPolicyRule 3:aggregationRule:*mAggregationRule
rbac/v1.ClusterRoleBinding 1:metadata:mmeta/v1.ObjectMeta 2:subjects:[mSubject 3:roleRef:mRoleRef
rbac/v1.PolicyRule 1:verbs:[s 2:apiGroups:[s 3:resources:[s 4:resourceNames:[s 5:nonResourceURLs:[s
rbac/v1.Role 1:metadata:mmeta/v1.ObjectMeta 2:rules:[mPolicyRule
rbac/v1.RoleBinding 1:metadata:mmeta/v1.ObjectMeta 2:subjects:[mSubject 3:roleRef:mRoleRef
rbac/v1.RoleRef 1:apiGroup:s 2:kind:s 3:name:s
rbac/v1.Subject 1:kind:s 2:apiGroup:s 3:name:s 4:namespace:s
scheduling/v1.PriorityClass 1:metadata:mmeta/v1.ObjectMeta 2:value:i 3:globalDefault:t 4:description:s 5:preemptionPolicy:*s
`;
