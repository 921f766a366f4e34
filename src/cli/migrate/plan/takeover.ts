/** Plans the takeover of the Helm release of Karpenter 1.1 or later by this operator, a summary of docs/takeover.md. */
import type { Found } from './found.ts';
import type { MigrationStep } from './step.ts';

export function takeoverSteps({ release, namespace, clusterName }: Found): readonly MigrationStep[] {
  return [
    {
      title: 'Check before the takeover',
      text: [
        'Custom resources, nodes and instances are not changed. See docs/takeover.md for the reasons and all commands.',
      ],
      commands: [
        `karpenter doctor --cluster-name ${clusterName}`,
        'kubectl get nodepools,ec2nodeclasses,nodeclaims -o yaml > before-takeover.yaml',
        'kubectl get nodeclaims -o custom-columns=NAME:.metadata.name,UID:.metadata.uid,ID:.status.providerID > before.txt',
        `helm get values ${release} -n ${namespace} -o yaml > values.yaml   # remove controller.image from it`,
        `helm history ${release} -n ${namespace} --max 1   # the revision for a rollback`,
      ],
      check: ['karpenter doctor reports no errors'],
    },
    {
      title: 'Stop Karpenter and start the operator',
      text: ['Between both commands, no nodes are launched or removed, and pods that need a node stay pending.'],
      commands: [
        `kubectl scale deployment ${release} -n ${namespace} --replicas 0`,
        `kubectl wait --for=delete pod -l app.kubernetes.io/name=karpenter -n ${namespace} --timeout=120s`,
        `helm upgrade ${release} charts/karpenter -n ${namespace} --reset-values -f values.yaml --skip-crds --set settings.packing=compatible --set settings.consolidation=compatible --set controller.image.repository="$IMAGE"`,
        `kubectl rollout status deployment/${release} -n ${namespace} --timeout=120s`,
      ],
      check: [
        'kubectl get nodeclaims -o custom-columns=NAME:.metadata.name,UID:.metadata.uid,ID:.status.providerID | diff before.txt -: no differences',
        'kubectl get nodepools,ec2nodeclasses: all are READY',
        `karpenter doctor --cluster-name ${clusterName}: no errors`,
      ],
      back: [
        `kubectl scale deployment ${release} -n ${namespace} --replicas 0, wait as above, then helm rollback ${release} REVISION -n ${namespace}`,
      ],
    },
  ];
}
