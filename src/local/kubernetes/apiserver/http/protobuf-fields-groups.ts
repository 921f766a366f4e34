/** Field numbers of the remaining packages, in the format of protobuf-fields-core.ts. */
export const GROUP_FIELDS = `
admissionregistration/v1.AuditAnnotation 1:key:!s 2:valueExpression:!s
admissionregistration/v1.ExpressionWarning 2:fieldRef:!s 3:warning:!s
admissionregistration/v1.MatchCondition 1:name:!s 2:expression:!s
admissionregistration/v1.MatchResources 1:namespaceSelector:*mmeta/v1.LabelSelector 2:objectSelector:*mmeta/v1.LabelSelector 3:resourceRules:[mNamedRuleWithOperations 4:excludeResourceRules:[mNamedRuleWithOperations 7:matchPolicy:*s
admissionregistration/v1.MutatingWebhook 1:name:!s 2:clientConfig:mWebhookClientConfig 3:rules:[mRuleWithOperations 4:failurePolicy:*s 9:matchPolicy:*s 5:namespaceSelector:*mmeta/v1.LabelSelector 11:objectSelector:*mmeta/v1.LabelSelector 6:sideEffects:*s 7:timeoutSeconds:*i 8:admissionReviewVersions:[s 10:reinvocationPolicy:*s 12:matchConditions:[mMatchCondition
admissionregistration/v1.MutatingWebhookConfiguration 1:metadata:mmeta/v1.ObjectMeta 2:webhooks:[mMutatingWebhook
admissionregistration/v1.NamedRuleWithOperations 1:resourceNames:[s 2::mRuleWithOperations
admissionregistration/v1.ParamKind 1:apiVersion:s 2:kind:s
admissionregistration/v1.ParamRef 1:name:s 2:namespace:s 3:selector:*mmeta/v1.LabelSelector 4:parameterNotFoundAction:*s
admissionregistration/v1.Rule 1:apiGroups:[s 2:apiVersions:[s 3:resources:[s 4:scope:*s
admissionregistration/v1.RuleWithOperations 1:operations:[s 2::mRule
admissionregistration/v1.ServiceReference 1:namespace:!s 2:name:!s 3:path:*s 4:port:*i
admissionregistration/v1.TypeChecking 1:expressionWarnings:[mExpressionWarning
admissionregistration/v1.ValidatingAdmissionPolicy 1:metadata:mmeta/v1.ObjectMeta 2:spec:mValidatingAdmissionPolicySpec 3:status:mValidatingAdmissionPolicyStatus
admissionregistration/v1.ValidatingAdmissionPolicyBinding 1:metadata:mmeta/v1.ObjectMeta 2:spec:mValidatingAdmissionPolicyBindingSpec
admissionregistration/v1.ValidatingAdmissionPolicyBindingSpec 1:policyName:s 2:paramRef:*mParamRef 3:matchResources:*mMatchResources 4:validationActions:[s
admissionregistration/v1.ValidatingAdmissionPolicySpec 1:paramKind:*mParamKind 2:matchConstraints:*mMatchResources 3:validations:[mValidation 4:failurePolicy:*s 5:auditAnnotations:[mAuditAnnotation 6:matchConditions:[mMatchCondition 7:variables:[mVariable
admissionregistration/v1.ValidatingAdmissionPolicyStatus 1:observedGeneration:i 2:typeChecking:*mTypeChecking 3:conditions:[mmeta/v1.Condition
admissionregistration/v1.ValidatingWebhook 1:name:!s 2:clientConfig:mWebhookClientConfig 3:rules:[mRuleWithOperations 4:failurePolicy:*s 9:matchPolicy:*s 5:namespaceSelector:*mmeta/v1.LabelSelector 10:objectSelector:*mmeta/v1.LabelSelector 6:sideEffects:*s 7:timeoutSeconds:*i 8:admissionReviewVersions:[s 11:matchConditions:[mMatchCondition
admissionregistration/v1.ValidatingWebhookConfiguration 1:metadata:mmeta/v1.ObjectMeta 2:webhooks:[mValidatingWebhook
admissionregistration/v1.Validation 1:expression:!s 2:message:s 3:reason:*s 4:messageExpression:s
admissionregistration/v1.Variable 1:name:!s 2:expression:!s
admissionregistration/v1.WebhookClientConfig 3:url:*s 1:service:*mServiceReference 2:caBundle:y
apiextensions/v1.CustomResourceColumnDefinition 1:name:!s 2:type:!s 3:format:s 4:description:s 5:priority:i 6:jsonPath:!s
apiextensions/v1.CustomResourceConversion 1:strategy:!s 2:webhook:*mWebhookConversion
apiextensions/v1.CustomResourceDefinition 1:metadata:mmeta/v1.ObjectMeta 2:spec:mCustomResourceDefinitionSpec 3:status:mCustomResourceDefinitionStatus
apiextensions/v1.CustomResourceDefinitionCondition 1:type:!s 2:status:!s 3:lastTransitionTime:T 4:reason:s 5:message:s 6:observedGeneration:i
apiextensions/v1.CustomResourceDefinitionNames 1:plural:!s 2:singular:s 3:shortNames:[s 4:kind:!s 5:listKind:s 6:categories:[s
apiextensions/v1.CustomResourceDefinitionSpec 1:group:!s 3:names:mCustomResourceDefinitionNames 4:scope:!s 7:versions:[mCustomResourceDefinitionVersion 9:conversion:*mCustomResourceConversion 10:preserveUnknownFields:t
apiextensions/v1.CustomResourceDefinitionStatus 1:conditions:[mCustomResourceDefinitionCondition 2:acceptedNames:mCustomResourceDefinitionNames 3:storedVersions:[s 4:observedGeneration:i
apiextensions/v1.CustomResourceDefinitionVersion 1:name:!s 2:served:!t 3:storage:!t 7:deprecated:t 8:deprecationWarning:*s 4:schema:*mCustomResourceValidation 5:subresources:*mCustomResourceSubresources 6:additionalPrinterColumns:[mCustomResourceColumnDefinition 9:selectableFields:[mSelectableField
apiextensions/v1.CustomResourceSubresourceScale 1:specReplicasPath:!s 2:statusReplicasPath:!s 3:labelSelectorPath:*s
apiextensions/v1.CustomResourceSubresourceStatus
apiextensions/v1.CustomResourceSubresources 1:status:*mCustomResourceSubresourceStatus 2:scale:*mCustomResourceSubresourceScale
apiextensions/v1.CustomResourceValidation 1:openAPIV3Schema:*mJSONSchemaProps
apiextensions/v1.ExternalDocumentation 1:description:s 2:url:s
apiextensions/v1.JSONSchemaProps 1:id:s 2:$schema:s 3:$ref:*s 4:description:s 5:type:s 6:format:s 7:title:s 8:default:*r 9:maximum:*d 10:exclusiveMaximum:t 11:minimum:*d 12:exclusiveMinimum:t 13:maxLength:*i 14:minLength:*i 15:pattern:s 16:maxItems:*i 17:minItems:*i 18:uniqueItems:t 19:multipleOf:*d 20:enum:[r 21:maxProperties:*i 22:minProperties:*i 23:required:[s 24:items:*A 25:allOf:[mJSONSchemaProps 26:oneOf:[mJSONSchemaProps 27:anyOf:[mJSONSchemaProps 28:not:*mJSONSchemaProps 29:properties:{mJSONSchemaProps 30:additionalProperties:*B 31:patternProperties:{mJSONSchemaProps 32:dependencies:{S 33:additionalItems:*B 34:definitions:{mJSONSchemaProps 35:externalDocs:*mExternalDocumentation 36:example:*r 37:nullable:t 38:x-kubernetes-preserve-unknown-fields:*t 39:x-kubernetes-embedded-resource:t 40:x-kubernetes-int-or-string:t 41:x-kubernetes-list-map-keys:[s 42:x-kubernetes-list-type:*s 43:x-kubernetes-map-type:*s 44:x-kubernetes-validations:[mValidationRule
apiextensions/v1.SelectableField 1:jsonPath:!s
apiextensions/v1.ServiceReference 1:namespace:!s 2:name:!s 3:path:*s 4:port:*i
apiextensions/v1.ValidationRule 1:rule:!s 2:message:s 3:messageExpression:s 4:reason:*s 5:fieldPath:s 6:optionalOldSelf:*t
apiextensions/v1.WebhookClientConfig 3:url:*s 1:service:*mServiceReference 2:caBundle:y
apiextensions/v1.WebhookConversion 2:clientConfig:*mWebhookClientConfig 3:conversionReviewVersions:[s
apps/v1.ControllerRevision 1:metadata:mmeta/v1.ObjectMeta 2:data:r 3:revision:!i
apps/v1.DaemonSet 1:metadata:mmeta/v1.ObjectMeta 2:spec:mDaemonSetSpec 3:status:mDaemonSetStatus
apps/v1.DaemonSetCondition 1:type:!s 2:status:!s 3:lastTransitionTime:T 4:reason:s 5:message:s
apps/v1.DaemonSetSpec 1:selector:*mmeta/v1.LabelSelector 2:template:mcore/v1.PodTemplateSpec 3:updateStrategy:mDaemonSetUpdateStrategy 4:minReadySeconds:i 6:revisionHistoryLimit:*i
apps/v1.DaemonSetStatus 1:currentNumberScheduled:!i 2:numberMisscheduled:!i 3:desiredNumberScheduled:!i 4:numberReady:!i 5:observedGeneration:i 6:updatedNumberScheduled:i 7:numberAvailable:i 8:numberUnavailable:i 9:collisionCount:*i 10:conditions:[mDaemonSetCondition
apps/v1.DaemonSetUpdateStrategy 1:type:s 2:rollingUpdate:*mRollingUpdateDaemonSet
apps/v1.Deployment 1:metadata:mmeta/v1.ObjectMeta 2:spec:mDeploymentSpec 3:status:mDeploymentStatus
apps/v1.DeploymentCondition 1:type:!s 2:status:!s 6:lastUpdateTime:T 7:lastTransitionTime:T 4:reason:s 5:message:s
apps/v1.DeploymentSpec 1:replicas:*i 2:selector:*mmeta/v1.LabelSelector 3:template:mcore/v1.PodTemplateSpec 4:strategy:mDeploymentStrategy 5:minReadySeconds:i 6:revisionHistoryLimit:*i 7:paused:t 9:progressDeadlineSeconds:*i
apps/v1.DeploymentStatus 1:observedGeneration:i 2:replicas:i 3:updatedReplicas:i 7:readyReplicas:i 4:availableReplicas:i 5:unavailableReplicas:i 9:terminatingReplicas:*i 6:conditions:[mDeploymentCondition 8:collisionCount:*i
apps/v1.DeploymentStrategy 1:type:s 2:rollingUpdate:*mRollingUpdateDeployment
apps/v1.ReplicaSet 1:metadata:mmeta/v1.ObjectMeta 2:spec:mReplicaSetSpec 3:status:mReplicaSetStatus
apps/v1.ReplicaSetCondition 1:type:!s 2:status:!s 3:lastTransitionTime:T 4:reason:s 5:message:s
apps/v1.ReplicaSetSpec 1:replicas:*i 4:minReadySeconds:i 2:selector:*mmeta/v1.LabelSelector 3:template:mcore/v1.PodTemplateSpec
apps/v1.ReplicaSetStatus 1:replicas:!i 2:fullyLabeledReplicas:i 4:readyReplicas:i 5:availableReplicas:i 7:terminatingReplicas:*i 3:observedGeneration:i 6:conditions:[mReplicaSetCondition
apps/v1.RollingUpdateDaemonSet 1:maxUnavailable:*o 2:maxSurge:*o
apps/v1.RollingUpdateDeployment 1:maxUnavailable:*o 2:maxSurge:*o
apps/v1.RollingUpdateStatefulSetStrategy 1:partition:*i 2:maxUnavailable:*o
apps/v1.StatefulSet 1:metadata:mmeta/v1.ObjectMeta 2:spec:mStatefulSetSpec 3:status:mStatefulSetStatus
apps/v1.StatefulSetCondition 1:type:!s 2:status:!s 3:lastTransitionTime:T 4:reason:s 5:message:s
apps/v1.StatefulSetOrdinals 1:start:!i
apps/v1.StatefulSetPersistentVolumeClaimRetentionPolicy 1:whenDeleted:s 2:whenScaled:s
apps/v1.StatefulSetSpec 1:replicas:*i 2:selector:*mmeta/v1.LabelSelector 3:template:mcore/v1.PodTemplateSpec 4:volumeClaimTemplates:[mcore/v1.PersistentVolumeClaim 5:serviceName:!s 6:podManagementPolicy:s 7:updateStrategy:mStatefulSetUpdateStrategy 8:revisionHistoryLimit:*i 9:minReadySeconds:i 10:persistentVolumeClaimRetentionPolicy:*mStatefulSetPersistentVolumeClaimRetentionPolicy 11:ordinals:*mStatefulSetOrdinals
apps/v1.StatefulSetStatus 1:observedGeneration:i 2:replicas:!i 3:readyReplicas:i 4:currentReplicas:i 5:updatedReplicas:i 6:currentRevision:s 7:updateRevision:s 9:collisionCount:*i 10:conditions:[mStatefulSetCondition 11:availableReplicas:!i
apps/v1.StatefulSetUpdateStrategy 1:type:s 2:rollingUpdate:*mRollingUpdateStatefulSetStrategy
authentication/v1.BoundObjectReference 1:kind:s 2:apiVersion:s 3:name:s 4:uid:s
authentication/v1.SelfSubjectReview 1:metadata:mmeta/v1.ObjectMeta 2:status:mSelfSubjectReviewStatus
authentication/v1.SelfSubjectReviewStatus 1:userInfo:mUserInfo
authentication/v1.TokenRequest 1:metadata:mmeta/v1.ObjectMeta 2:spec:mTokenRequestSpec 3:status:mTokenRequestStatus
authentication/v1.TokenRequestSpec 1:audiences:[s 4:expirationSeconds:*i 3:boundObjectRef:*mBoundObjectReference 5:attestations:{[s
authentication/v1.TokenRequestStatus 1:token:!s 2:expirationTimestamp:T
authentication/v1.TokenReview 1:metadata:mmeta/v1.ObjectMeta 2:spec:mTokenReviewSpec 3:status:mTokenReviewStatus
authentication/v1.TokenReviewSpec 1:token:s 2:audiences:[s
authentication/v1.TokenReviewStatus 1:authenticated:t 2:user:mUserInfo 4:audiences:[s 3:error:s
authentication/v1.UserInfo 1:username:s 2:uid:s 3:groups:[s 4:extra:{[s
authorization/v1.FieldSelectorAttributes 1:rawSelector:s 2:requirements:[mmeta/v1.FieldSelectorRequirement
authorization/v1.LabelSelectorAttributes 1:rawSelector:s 2:requirements:[mmeta/v1.LabelSelectorRequirement
authorization/v1.LocalSubjectAccessReview 1:metadata:mmeta/v1.ObjectMeta 2:spec:mSubjectAccessReviewSpec 3:status:mSubjectAccessReviewStatus
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
authorization/v1.SubjectAccessReviewStatus 1:allowed:!t 4:denied:t 2:reason:s 3:evaluationError:s
authorization/v1.SubjectRulesReviewStatus 1:resourceRules:[mResourceRule 2:nonResourceRules:[mNonResourceRule 3:incomplete:!t 4:evaluationError:s
autoscaling/v1.Scale 1:metadata:mmeta/v1.ObjectMeta 2:spec:mScaleSpec 3:status:mScaleStatus
autoscaling/v1.ScaleSpec 1:replicas:i
autoscaling/v1.ScaleStatus 1:replicas:!i 2:selector:s
autoscaling/v2.ContainerResourceMetricSource 1:name:!s 2:target:mMetricTarget 3:container:!s
autoscaling/v2.ContainerResourceMetricStatus 1:name:!s 2:current:mMetricValueStatus 3:container:!s
autoscaling/v2.CrossVersionObjectReference 1:kind:!s 2:name:!s 3:apiVersion:s
autoscaling/v2.ExternalMetricSource 1:metric:mMetricIdentifier 2:target:mMetricTarget
autoscaling/v2.ExternalMetricStatus 1:metric:mMetricIdentifier 2:current:mMetricValueStatus
autoscaling/v2.HPAScalingPolicy 1:type:!s 2:value:!i 3:periodSeconds:!i
autoscaling/v2.HPAScalingRules 3:stabilizationWindowSeconds:*i 1:selectPolicy:*s 2:policies:[mHPAScalingPolicy 4:tolerance:*q
autoscaling/v2.HorizontalPodAutoscaler 1:metadata:mmeta/v1.ObjectMeta 2:spec:mHorizontalPodAutoscalerSpec 3:status:mHorizontalPodAutoscalerStatus
autoscaling/v2.HorizontalPodAutoscalerBehavior 1:scaleUp:*mHPAScalingRules 2:scaleDown:*mHPAScalingRules
autoscaling/v2.HorizontalPodAutoscalerCondition 1:type:!s 2:status:!s 3:lastTransitionTime:T 4:reason:s 5:message:s 6:observedGeneration:*i
autoscaling/v2.HorizontalPodAutoscalerSpec 1:scaleTargetRef:mCrossVersionObjectReference 2:minReplicas:*i 3:maxReplicas:!i 4:metrics:[mMetricSpec 5:behavior:*mHorizontalPodAutoscalerBehavior
autoscaling/v2.HorizontalPodAutoscalerStatus 1:observedGeneration:*i 2:lastScaleTime:*T 3:currentReplicas:i 4:desiredReplicas:!i 5:currentMetrics:[mMetricStatus 6:conditions:[mHorizontalPodAutoscalerCondition
autoscaling/v2.MetricIdentifier 1:name:!s 2:selector:*mmeta/v1.LabelSelector
autoscaling/v2.MetricSpec 1:type:!s 2:object:*mObjectMetricSource 3:pods:*mPodsMetricSource 4:resource:*mResourceMetricSource 7:containerResource:*mContainerResourceMetricSource 5:external:*mExternalMetricSource
autoscaling/v2.MetricStatus 1:type:!s 2:object:*mObjectMetricStatus 3:pods:*mPodsMetricStatus 4:resource:*mResourceMetricStatus 7:containerResource:*mContainerResourceMetricStatus 5:external:*mExternalMetricStatus
autoscaling/v2.MetricTarget 1:type:!s 2:value:*q 3:averageValue:*q 4:averageUtilization:*i
autoscaling/v2.MetricValueStatus 1:value:*q 2:averageValue:*q 3:averageUtilization:*i
autoscaling/v2.ObjectMetricSource 1:describedObject:mCrossVersionObjectReference 2:target:mMetricTarget 3:metric:mMetricIdentifier
autoscaling/v2.ObjectMetricStatus 1:metric:mMetricIdentifier 2:current:mMetricValueStatus 3:describedObject:mCrossVersionObjectReference
autoscaling/v2.PodsMetricSource 1:metric:mMetricIdentifier 2:target:mMetricTarget
autoscaling/v2.PodsMetricStatus 1:metric:mMetricIdentifier 2:current:mMetricValueStatus
autoscaling/v2.ResourceMetricSource 1:name:!s 2:target:mMetricTarget
autoscaling/v2.ResourceMetricStatus 1:name:!s 2:current:mMetricValueStatus
batch/v1.CronJob 1:metadata:mmeta/v1.ObjectMeta 2:spec:mCronJobSpec 3:status:mCronJobStatus
batch/v1.CronJobSpec 1:schedule:!s 8:timeZone:*s 2:startingDeadlineSeconds:*i 3:concurrencyPolicy:s 4:suspend:*t 5:jobTemplate:mJobTemplateSpec 6:successfulJobsHistoryLimit:*i 7:failedJobsHistoryLimit:*i
batch/v1.CronJobStatus 1:active:[mcore/v1.ObjectReference 4:lastScheduleTime:*T 5:lastSuccessfulTime:*T
batch/v1.Job 1:metadata:mmeta/v1.ObjectMeta 2:spec:mJobSpec 3:status:mJobStatus
batch/v1.JobCondition 1:type:!s 2:status:!s 3:lastProbeTime:T 4:lastTransitionTime:T 5:reason:s 6:message:s
batch/v1.JobSchedulingConfiguration 1:schedulingPolicy:*mscheduling/v1alpha3.WorkloadPodGroupSchedulingPolicy 2:schedulingConstraints:*mscheduling/v1alpha3.WorkloadPodGroupSchedulingConstraints 3:disruptionMode:*mscheduling/v1alpha3.WorkloadPodGroupDisruptionMode 4:resourceClaims:[mscheduling/v1alpha3.WorkloadPodGroupResourceClaim
batch/v1.JobSpec 1:parallelism:*i 2:completions:*i 3:activeDeadlineSeconds:*i 11:podFailurePolicy:*mPodFailurePolicy 16:successPolicy:*mSuccessPolicy 7:backoffLimit:*i 12:backoffLimitPerIndex:*i 13:maxFailedIndexes:*i 4:selector:*mmeta/v1.LabelSelector 5:manualSelector:*t 6:template:mcore/v1.PodTemplateSpec 8:ttlSecondsAfterFinished:*i 9:completionMode:*s 10:suspend:*t 14:podReplacementPolicy:*s 15:managedBy:*s 17:scheduling:*mJobSchedulingConfiguration
batch/v1.JobStatus 1:conditions:[mJobCondition 2:startTime:*T 3:completionTime:*T 4:active:i 5:succeeded:i 6:failed:i 11:terminating:*i 7:completedIndexes:s 10:failedIndexes:*s 8:uncountedTerminatedPods:*mUncountedTerminatedPods 9:ready:*i
batch/v1.JobTemplateSpec 1:metadata:mmeta/v1.ObjectMeta 2:spec:mJobSpec
batch/v1.PodFailurePolicy 1:rules:[mPodFailurePolicyRule
batch/v1.PodFailurePolicyOnExitCodesRequirement 1:containerName:*s 2:operator:!s 3:values:[i
batch/v1.PodFailurePolicyOnPodConditionsPattern 1:type:!s 2:status:!s
batch/v1.PodFailurePolicyRule 1:action:!s 2:onExitCodes:*mPodFailurePolicyOnExitCodesRequirement 3:onPodConditions:[mPodFailurePolicyOnPodConditionsPattern
batch/v1.SuccessPolicy 1:rules:[mSuccessPolicyRule
batch/v1.SuccessPolicyRule 1:succeededIndexes:*s 2:succeededCount:*i
batch/v1.UncountedTerminatedPods 1:succeeded:[s 2:failed:[s
coordination/v1.Lease 1:metadata:mmeta/v1.ObjectMeta 2:spec:mLeaseSpec
coordination/v1.LeaseSpec 1:holderIdentity:*s 2:leaseDurationSeconds:*i 3:acquireTime:*u 4:renewTime:*u 5:leaseTransitions:*i 6:strategy:*s 7:preferredHolder:*s
discovery/v1.Endpoint 1:addresses:[s 2:conditions:mEndpointConditions 3:hostname:*s 4:targetRef:*mcore/v1.ObjectReference 5:deprecatedTopology:{s 6:nodeName:*s 7:zone:*s 8:hints:*mEndpointHints
discovery/v1.EndpointConditions 1:ready:*t 2:serving:*t 3:terminating:*t
discovery/v1.EndpointHints 1:forZones:[mForZone 2:forNodes:[mForNode
discovery/v1.EndpointPort 1:name:*s 2:protocol:*s 3:port:*i 4:appProtocol:*s
discovery/v1.EndpointSlice 1:metadata:mmeta/v1.ObjectMeta 4:addressType:!s 2:endpoints:[mEndpoint 3:ports:[mEndpointPort
discovery/v1.ForNode 1:name:!s
discovery/v1.ForZone 1:name:!s
events/v1.Event 1:metadata:mmeta/v1.ObjectMeta 2:eventTime:u 3:series:*mEventSeries 4:reportingController:s 5:reportingInstance:s 6:action:s 7:reason:s 8:regarding:mcore/v1.ObjectReference 9:related:*mcore/v1.ObjectReference 10:note:s 11:type:s 12:deprecatedSource:mcore/v1.EventSource 13:deprecatedFirstTimestamp:T 14:deprecatedLastTimestamp:T 15:deprecatedCount:i
events/v1.EventSeries 1:count:!i 2:lastObservedTime:u
meta/v1.Condition 1:type:!s 2:status:!s 3:observedGeneration:i 4:lastTransitionTime:T 5:reason:!s 6:message:!s
meta/v1.DeleteOptions 1:gracePeriodSeconds:*i 2:preconditions:*mPreconditions 3:orphanDependents:*t 4:propagationPolicy:*s 5:dryRun:[s 6:ignoreStoreReadErrorWithClusterBreakingPotential:*t
meta/v1.FieldSelectorRequirement 1:key:!s 2:operator:!s 3:values:[s
meta/v1.LabelSelector 1:matchLabels:{s 2:matchExpressions:[mLabelSelectorRequirement
meta/v1.LabelSelectorRequirement 1:key:!s 2:operator:!s 3:values:[s
meta/v1.ManagedFieldsEntry 1:manager:s 2:operation:s 3:apiVersion:s 4:time:*T 6:fieldsType:s 7:fieldsV1:*r 8:subresource:s
meta/v1.ObjectMeta 1:name:s 2:generateName:s 3:namespace:s 4:selfLink:s 5:uid:s 6:resourceVersion:s 7:generation:i 8:creationTimestamp:T 9:deletionTimestamp:*T 10:deletionGracePeriodSeconds:*i 11:labels:{s 12:annotations:{s 13:ownerReferences:[mOwnerReference 14:finalizers:[s 17:managedFields:[mManagedFieldsEntry
meta/v1.OwnerReference 5:apiVersion:!s 1:kind:!s 3:name:!s 4:uid:!s 6:controller:*t 7:blockOwnerDeletion:*t
meta/v1.Preconditions 1:uid:*s 2:resourceVersion:*s
networking/v1.HTTPIngressPath 1:path:s 3:pathType:*s 2:backend:mIngressBackend
networking/v1.HTTPIngressRuleValue 1:paths:[mHTTPIngressPath
networking/v1.IPBlock 1:cidr:!s 2:except:[s
networking/v1.Ingress 1:metadata:mmeta/v1.ObjectMeta 2:spec:mIngressSpec 3:status:mIngressStatus
networking/v1.IngressBackend 4:service:*mIngressServiceBackend 3:resource:*mcore/v1.TypedLocalObjectReference
networking/v1.IngressClass 1:metadata:mmeta/v1.ObjectMeta 2:spec:mIngressClassSpec
networking/v1.IngressClassParametersReference 1:apiGroup:*s 2:kind:!s 3:name:!s 4:scope:*s 5:namespace:*s
networking/v1.IngressClassSpec 1:controller:s 2:parameters:*mIngressClassParametersReference
networking/v1.IngressLoadBalancerIngress 1:ip:s 2:hostname:s 4:ports:[mIngressPortStatus
networking/v1.IngressLoadBalancerStatus 1:ingress:[mIngressLoadBalancerIngress
networking/v1.IngressPortStatus 1:port:!i 2:protocol:!s 3:error:*s
networking/v1.IngressRule 1:host:s 2::mIngressRuleValue
networking/v1.IngressRuleValue 1:http:*mHTTPIngressRuleValue
networking/v1.IngressServiceBackend 1:name:!s 2:port:mServiceBackendPort
networking/v1.IngressSpec 4:ingressClassName:*s 1:defaultBackend:*mIngressBackend 2:tls:[mIngressTLS 3:rules:[mIngressRule
networking/v1.IngressStatus 1:loadBalancer:mIngressLoadBalancerStatus
networking/v1.IngressTLS 1:hosts:[s 2:secretName:s
networking/v1.NetworkPolicy 1:metadata:mmeta/v1.ObjectMeta 2:spec:mNetworkPolicySpec
networking/v1.NetworkPolicyEgressRule 1:ports:[mNetworkPolicyPort 2:to:[mNetworkPolicyPeer
networking/v1.NetworkPolicyIngressRule 1:ports:[mNetworkPolicyPort 2:from:[mNetworkPolicyPeer
networking/v1.NetworkPolicyPeer 1:podSelector:*mmeta/v1.LabelSelector 2:namespaceSelector:*mmeta/v1.LabelSelector 3:ipBlock:*mIPBlock
networking/v1.NetworkPolicyPort 1:protocol:*s 2:port:*o 3:endPort:*i
networking/v1.NetworkPolicySpec 1:podSelector:mmeta/v1.LabelSelector 2:ingress:[mNetworkPolicyIngressRule 3:egress:[mNetworkPolicyEgressRule 4:policyTypes:[s
networking/v1.ServiceBackendPort 1:name:s 2:number:i
node/v1.Overhead 1:podFixed:{q
node/v1.RuntimeClass 1:metadata:mmeta/v1.ObjectMeta 2:handler:!s 3:overhead:*mOverhead 4:scheduling:*mScheduling
node/v1.Scheduling 1:nodeSelector:{s 2:tolerations:[mcore/v1.Toleration
policy/v1.Eviction 1:metadata:mmeta/v1.ObjectMeta 2:deleteOptions:*mmeta/v1.DeleteOptions
policy/v1.PodDisruptionBudget 1:metadata:mmeta/v1.ObjectMeta 2:spec:mPodDisruptionBudgetSpec 3:status:mPodDisruptionBudgetStatus
policy/v1.PodDisruptionBudgetSpec 1:minAvailable:*o 2:selector:*mmeta/v1.LabelSelector 3:maxUnavailable:*o 4:unhealthyPodEvictionPolicy:*s
policy/v1.PodDisruptionBudgetStatus 1:observedGeneration:i 2:disruptedPods:{T 3:disruptionsAllowed:!i 4:currentHealthy:!i 5:desiredHealthy:!i 6:expectedPods:!i 7:conditions:[mmeta/v1.Condition
rbac/v1.AggregationRule 1:clusterRoleSelectors:[mmeta/v1.LabelSelector
rbac/v1.ClusterRole 1:metadata:mmeta/v1.ObjectMeta 2:rules:[mPolicyRule 3:aggregationRule:*mAggregationRule
rbac/v1.ClusterRoleBinding 1:metadata:mmeta/v1.ObjectMeta 2:subjects:[mSubject 3:roleRef:mRoleRef
rbac/v1.PolicyRule 1:verbs:[s 2:apiGroups:[s 3:resources:[s 4:resourceNames:[s 5:nonResourceURLs:[s
rbac/v1.Role 1:metadata:mmeta/v1.ObjectMeta 2:rules:[mPolicyRule
rbac/v1.RoleBinding 1:metadata:mmeta/v1.ObjectMeta 2:subjects:[mSubject 3:roleRef:mRoleRef
rbac/v1.RoleRef 1:apiGroup:!s 2:kind:!s 3:name:!s
rbac/v1.Subject 1:kind:!s 2:apiGroup:s 3:name:!s 4:namespace:s
resource/v1.AllocatedDeviceStatus 1:driver:!s 2:pool:!s 3:device:!s 7:shareID:*s 4:conditions:[mmeta/v1.Condition 5:data:*r 6:networkData:*mNetworkDeviceData
resource/v1.AllocationResult 1:devices:mDeviceAllocationResult 3:nodeSelector:*mcore/v1.NodeSelector 5:allocationTimestamp:*T
resource/v1.CELDeviceSelector 1:expression:!s
resource/v1.CapacityRequestPolicy 1:default:*q 3:validValues:[q 4:validRange:*mCapacityRequestPolicyRange
resource/v1.CapacityRequestPolicyRange 1:min:*q 2:max:*q 3:step:*q
resource/v1.CapacityRequirements 1:requests:{q
resource/v1.Counter 1:value:q
resource/v1.CounterSet 1:name:!s 2:counters:{mCounter
resource/v1.Device 1:name:!s 2:attributes:{mDeviceAttribute 3:capacity:{mDeviceCapacity 4:consumesCounters:[mDeviceCounterConsumption 5:nodeName:*s 6:nodeSelector:*mcore/v1.NodeSelector 7:allNodes:*t 8:taints:[mDeviceTaint 9:bindsToNode:*t 10:bindingConditions:[s 11:bindingFailureConditions:[s 12:allowMultipleAllocations:*t 14:nodeAllocatableResources:{mNodeAllocatableResource
resource/v1.DeviceAllocationConfiguration 1:source:!s 2:requests:[s 3::mDeviceConfiguration
resource/v1.DeviceAllocationResult 1:results:[mDeviceRequestAllocationResult 2:config:[mDeviceAllocationConfiguration
resource/v1.DeviceAttribute 2:int:*i 3:bool:*t 4:string:*s 5:version:*s 6:ints:[i 7:bools:[t 8:strings:[s 9:versions:[s
resource/v1.DeviceCapacity 1:value:q 2:requestPolicy:*mCapacityRequestPolicy
resource/v1.DeviceClaim 1:requests:[mDeviceRequest 2:constraints:[mDeviceConstraint 3:config:[mDeviceClaimConfiguration
resource/v1.DeviceClaimConfiguration 1:requests:[s 2::mDeviceConfiguration
resource/v1.DeviceClass 1:metadata:mmeta/v1.ObjectMeta 2:spec:mDeviceClassSpec
resource/v1.DeviceClassConfiguration 1::mDeviceConfiguration
resource/v1.DeviceClassSpec 1:selectors:[mDeviceSelector 2:config:[mDeviceClassConfiguration 4:extendedResourceName:*s
resource/v1.DeviceConfiguration 1:opaque:*mOpaqueDeviceConfiguration
resource/v1.DeviceConstraint 1:requests:[s 2:matchAttribute:*s 3:distinctAttribute:*s
resource/v1.DeviceCounterConsumption 1:counterSet:!s 2:counters:{mCounter 3:compatibilityGroups:[s
resource/v1.DeviceDerivedAttribute 1:name:!s 2:expression:!s
resource/v1.DeviceRequest 1:name:!s 2:exactly:*mExactDeviceRequest 3:firstAvailable:[mDeviceSubRequest
resource/v1.DeviceRequestAllocationResult 1:request:!s 2:driver:!s 3:pool:!s 4:device:!s 5:adminAccess:*t 6:tolerations:[mDeviceToleration 7:bindingConditions:[s 8:bindingFailureConditions:[s 9:shareID:*s 10:consumedCapacity:{q 11:skipNodeOperations:[s
resource/v1.DeviceSelector 1:cel:*mCELDeviceSelector
resource/v1.DeviceSubRequest 1:name:!s 2:deviceClassName:!s 3:selectors:[mDeviceSelector 4:allocationMode:s 5:count:i 6:tolerations:[mDeviceToleration 7:capacity:*mCapacityRequirements 8:derivedAttributes:[mDeviceDerivedAttribute
resource/v1.DeviceTaint 1:key:!s 2:value:s 3:effect:!s 4:timeAdded:*T
resource/v1.DeviceToleration 1:key:s 2:operator:s 3:value:s 4:effect:s 5:tolerationSeconds:*i
resource/v1.ExactDeviceRequest 1:deviceClassName:!s 2:selectors:[mDeviceSelector 3:allocationMode:s 4:count:i 5:adminAccess:*t 6:tolerations:[mDeviceToleration 7:capacity:*mCapacityRequirements 8:derivedAttributes:[mDeviceDerivedAttribute
resource/v1.NetworkDeviceData 1:interfaceName:s 2:ips:[s 3:hardwareAddress:s
resource/v1.NodeAllocatableMapping 1:capacityKey:*s 2:capacityMultiplier:*q 3:deviceMultiplier:*q
resource/v1.NodeAllocatableOverhead 1:perPod:*q 2:perContainer:*q
resource/v1.NodeAllocatableResource 3:mapping:*mNodeAllocatableMapping 4:overhead:*mNodeAllocatableOverhead
resource/v1.OpaqueDeviceConfiguration 1:driver:!s 2:parameters:r
resource/v1.ResourceClaim 1:metadata:mmeta/v1.ObjectMeta 2:spec:mResourceClaimSpec 3:status:mResourceClaimStatus
resource/v1.ResourceClaimConsumerReference 1:apiGroup:s 3:resource:!s 4:name:!s 5:uid:!s
resource/v1.ResourceClaimSpec 1:devices:mDeviceClaim
resource/v1.ResourceClaimStatus 1:allocation:*mAllocationResult 2:reservedFor:[mResourceClaimConsumerReference 4:devices:[mAllocatedDeviceStatus
resource/v1.ResourceClaimTemplate 1:metadata:mmeta/v1.ObjectMeta 2:spec:mResourceClaimTemplateSpec
resource/v1.ResourceClaimTemplateSpec 1:metadata:mmeta/v1.ObjectMeta 2:spec:mResourceClaimSpec
resource/v1.ResourcePool 1:name:!s 2:generation:!i 3:resourceSliceCount:!i
resource/v1.ResourceSlice 1:metadata:mmeta/v1.ObjectMeta 2:spec:mResourceSliceSpec
resource/v1.ResourceSliceSpec 1:driver:!s 2:pool:mResourcePool 3:nodeName:*s 4:nodeSelector:*mcore/v1.NodeSelector 5:allNodes:*t 6:devices:[mDevice 7:perDeviceNodeSelection:*t 8:sharedCounters:[mCounterSet 9:partitionTypeAttribute:*s 10:skipNodeOperations:[s
scheduling/v1.PriorityClass 1:metadata:mmeta/v1.ObjectMeta 2:value:!i 3:globalDefault:t 4:description:s 5:preemptionPolicy:*s
scheduling/v1alpha3.TopologyConstraint 1:key:!s
scheduling/v1alpha3.WorkloadPodGroupAllDisruptionMode
scheduling/v1alpha3.WorkloadPodGroupBasicSchedulingPolicy
scheduling/v1alpha3.WorkloadPodGroupDisruptionMode 1:single:*mWorkloadPodGroupSingleDisruptionMode 2:all:*mWorkloadPodGroupAllDisruptionMode
scheduling/v1alpha3.WorkloadPodGroupGangSchedulingPolicy 1:minCount:*i
scheduling/v1alpha3.WorkloadPodGroupResourceClaim 1:name:!s 2:resourceClaimName:*s 3:resourceClaimTemplateName:*s
scheduling/v1alpha3.WorkloadPodGroupSchedulingConstraints 1:topology:[mTopologyConstraint
scheduling/v1alpha3.WorkloadPodGroupSchedulingPolicy 1:basic:*mWorkloadPodGroupBasicSchedulingPolicy 2:gang:*mWorkloadPodGroupGangSchedulingPolicy
scheduling/v1alpha3.WorkloadPodGroupSingleDisruptionMode
storage/v1.CSIDriver 1:metadata:mmeta/v1.ObjectMeta 2:spec:mCSIDriverSpec
storage/v1.CSIDriverSpec 1:attachRequired:*t 2:podInfoOnMount:*t 3:volumeLifecycleModes:[s 4:storageCapacity:*t 5:fsGroupPolicy:*s 6:tokenRequests:[mTokenRequest 7:requiresRepublish:*t 8:seLinuxMount:*t 9:nodeAllocatableUpdatePeriodSeconds:*i 10:serviceAccountTokenInSecrets:*t 11:preventPodSchedulingIfMissing:*t
storage/v1.CSINode 1:metadata:mmeta/v1.ObjectMeta 2:spec:mCSINodeSpec 3:status:mCSINodeStatus
storage/v1.CSINodeDriver 1:name:!s 2:nodeID:!s 3:topologyKeys:[s 4:allocatable:*mVolumeNodeResources
storage/v1.CSINodeSpec 1:drivers:[mCSINodeDriver
storage/v1.CSINodeStatus 1:storageHealth:[mStorageHealth
storage/v1.CSIStorageCapacity 1:metadata:mmeta/v1.ObjectMeta 2:nodeTopology:*mmeta/v1.LabelSelector 3:storageClassName:!s 4:capacity:*q 5:maximumVolumeSize:*q
storage/v1.StorageClass 1:metadata:mmeta/v1.ObjectMeta 2:provisioner:!s 3:parameters:{s 4:reclaimPolicy:*s 5:mountOptions:[s 6:allowVolumeExpansion:*t 7:volumeBindingMode:*s 8:allowedTopologies:[mcore/v1.TopologySelectorTerm
storage/v1.StorageHealth 1:name:!s 2:healthConditions:[mStorageHealthCondition
storage/v1.StorageHealthCondition 1:status:!s 2:reason:!s 3:message:s 4:accessMode:*s 5:volumeMode:*s 6:lastTransitionTime:T
storage/v1.TokenRequest 1:audience:!s 2:expirationSeconds:*i
storage/v1.VolumeAttachment 1:metadata:mmeta/v1.ObjectMeta 2:spec:mVolumeAttachmentSpec 3:status:mVolumeAttachmentStatus
storage/v1.VolumeAttachmentSource 1:persistentVolumeName:*s 2:inlineVolumeSpec:*mcore/v1.PersistentVolumeSpec
storage/v1.VolumeAttachmentSpec 1:attacher:!s 2:source:mVolumeAttachmentSource 3:nodeName:!s
storage/v1.VolumeAttachmentStatus 1:attached:!t 2:attachmentMetadata:{s 3:attachError:*mVolumeError 4:detachError:*mVolumeError
storage/v1.VolumeError 1:time:T 2:message:s 3:errorCode:*i
storage/v1.VolumeNodeResources 1:count:*i
`;
