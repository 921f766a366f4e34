/** Plans the takeover of the Helm release of Karpenter 1.1 or later by this operator, a summary of docs/takeover.md. */
import type { Found } from './found.ts';
import type { MigrationStep } from './step.ts';

export function takeoverSteps({ release, namespace, clusterName }: Found): readonly MigrationStep[] {
  return [
    {
      title: 'Check before the takeover',
      text: [
        'Custom resources, nodes and instances stay as they are; docs/takeover.md says why, and has every command.',
      ],
      commands: [
        `karpenter doctor --cluster-name ${clusterName}`,
        'kubectl get nodepools,ec2nodeclasses,nodeclaims -o yaml > before-takeover.yaml',
        'kubectl get nodeclaims -o custom-columns=NAME:.metadata.name,UID:.metadata.uid,ID:.status.providerID > before.txt',
        `helm get values ${release} -n ${namespace} -o yaml > values.yaml   # take controller.image out of it`,
        `helm history ${release} -n ${namespace} --max 1   # the revision to go back to`,
      ],
      check: ['doctor has no error'],
    },
    {
      title: 'Stop Karpenter, start the operator',
      text: ['In between nothing is bought or given back; pods that need a node wait.'],
      commands: [
        `kubectl scale deployment ${release} -n ${namespace} --replicas 0`,
        `kubectl wait --for=delete pod -l app.kubernetes.io/name=karpenter -n ${namespace} --timeout=120s`,
        `helm upgrade ${release} charts/karpenter -n ${namespace} --reset-values -f values.yaml --skip-crds --set settings.packing=compatible --set settings.consolidation=compatible --set controller.image.repository="$IMAGE"`,
        `kubectl rollout status deployment/${release} -n ${namespace} --timeout=120s`,
      ],
      check: [
        'kubectl get nodeclaims -o custom-columns=NAME:.metadata.name,UID:.metadata.uid,ID:.status.providerID | diff before.txt -: no line differs',
        'kubectl get nodepools,ec2nodeclasses: all READY',
        `karpenter doctor --cluster-name ${clusterName}: no error`,
      ],
      back: [
        `kubectl scale deployment ${release} -n ${namespace} --replicas 0, wait as above, then helm rollback ${release} REVISION -n ${namespace}`,
      ],
    },
  ];
}
