/** Plans the steps from Provisioners to NodePools. Only version 0.32 supports both. */

import { shellQuoted } from '../../render/shell.ts';
import { counted } from '../../render/table.ts';
import { LEGACY_TAINT } from '../checks/nodes.ts';
import type { Found } from './found.ts';
import type { MigrationStep } from './step.ts';

export const alphaSteps = (found: Found): readonly MigrationStep[] => [
  workloads(),
  pools(found),
  taint(found),
  replace(found),
  remove(found),
];

const workloads = (): MigrationStep => ({
  title: 'Let workloads go to nodes of both kinds',
  text: [
    'Nodes of NodePools have no label karpenter.sh/provisioner-name: pods that select by it find none of them.',
    'Both labels are allowed for until the last Provisioner is gone; pods that demand that provisioner-name does not exist demand the same of karpenter.sh/nodepool.',
    'karpenter.sh/do-not-evict and do-not-consolidate stay beside karpenter.sh/do-not-disrupt for now.',
  ],
  commands: [
    'karpenter migrate status   # WORKLOADS names what is to change',
    'karpenter convert -f manifests -R --diff   # shows how it is to be at the end',
  ],
  check: ['kubectl get pods -A --field-selector status.phase=Pending: none that waits for a label'],
});

function pools({ provisioners, nodeTemplates, nodeRole }: Found): MigrationStep {
  return {
    title: 'A NodePool for each Provisioner',
    text: [
      `Provisioners: ${provisioners.join(', ') || 'none is left'}; AWSNodeTemplates: ${nodeTemplates.join(', ') || 'none'}.`,
      'This version serves v1beta1, which its own tool writes. karpenter convert writes v1, for the step after 1.0.',
      'spec.role is the name of the role of the nodes, not its ARN, and not an instance profile. A role that the cluster knows already, such as that of a managed node group, needs no further entry.',
      'What the alpha version added by default is written out: without karpenter.sh/capacity-type a NodePool buys spot.',
    ],
    commands: [
      'go install github.com/aws/karpenter/tools/karpenter-convert/cmd/karpenter-convert@v0.32.9',
      ...(provisioners.length + nodeTemplates.length === 0
        ? []
        : [
            `kubectl get ${[...provisioners.map((name) => `provisioner/${name}`), ...nodeTemplates.map((name) => `awsnodetemplate/${name}`)].join(' ')} -o yaml > alpha.yaml`,
          ]),
      `export KARPENTER_NODE_ROLE=${nodeRole ?? 'NAME'}`,
      'karpenter-convert -f alpha.yaml | envsubst > beta.yaml   # read it, then apply it',
      'kubectl apply -f beta.yaml',
    ],
    check: [
      'kubectl get nodepools,ec2nodeclasses: one for each',
      'kubectl describe ec2nodeclasses: subnets, security groups and AMIs in the status',
    ],
    back: ['kubectl delete -f beta.yaml, as long as no NodeClaim is of it'],
  };
}

/** Adds a taint to Provisioners. A merge patch replaces the list, so the patch also contains the existing taints. */
function taint({ provisioners, provisionerTaints }: Found): MigrationStep {
  const patch = (name: string, taints: readonly object[]): string =>
    `kubectl patch provisioner ${name} --type merge -p ${shellQuoted(JSON.stringify({ spec: { taints } }))}`;
  const before = (name: string) => (provisionerTaints.get(name) ?? []).filter(({ key }) => key !== LEGACY_TAINT);
  const legacy = { key: LEGACY_TAINT, value: 'true', effect: 'NoSchedule' };
  return {
    title: 'No new pods for the old Provisioners',
    text: [
      `With the taint ${LEGACY_TAINT} a Provisioner gets no pods that do not tolerate it, and buys nothing for them. With the feature gate Drift, its nodes count as drifted from then on.`,
    ],
    warnings: ['kubectl delete provisioner ends all of its nodes at once: that is not this step.'],
    commands: provisioners.map((name) => patch(name, [...before(name), legacy])),
    check: ['a new pod goes to a node with the label karpenter.sh/nodepool'],
    back: provisioners.map((name) => patch(name, before(name))),
  };
}

function replace({ oldNodes }: Found): MigrationStep {
  return {
    title: 'Replace the old nodes',
    text: [
      `Of Provisioners: ${counted(oldNodes.length, 'node')}${oldNodes.length > 0 ? `, ${oldNodes.join(', ')}` : ''}.`,
      'Their Machines become no NodeClaims: they end with the nodes.',
      'With the feature gate Drift this happens by itself, one after the other. Without it, or for what is left:',
    ],
    commands: oldNodes.flatMap((name) => [
      `kubectl drain ${name} --ignore-daemonsets --delete-emptydir-data && kubectl delete node ${name}`,
    ]),
    check: [
      'between two of them, kubectl get pods -A --field-selector status.phase=Pending: none waits',
      'kubectl get machines: none is left',
    ],
    back: ['kubectl uncordon NODE, of those that are not drained yet'],
  };
}

const remove = ({ provisioners, nodeTemplates }: Found): MigrationStep => ({
  title: 'Delete the alpha objects',
  text: ['Only when no node and no Machine of theirs is left.'],
  warnings: [
    'A Provisioner takes its nodes with it. So does its CRD, with all Provisioners: the mistake that empties clusters.',
  ],
  commands: [
    'kubectl get machines && kubectl get nodes -l karpenter.sh/provisioner-name   # both show nothing',
    ...provisioners.map((name) => `kubectl delete provisioner ${name}`),
    ...nodeTemplates.map((name) => `kubectl delete awsnodetemplate ${name}`),
  ],
  check: ['kubectl get provisioners,machines,awsnodetemplates: nothing'],
  back: ['kubectl apply -f before.yaml brings the objects back, and no nodes'],
});
