/** Plans the steps from Provisioners to NodePools. Only version 0.32 supports both. */

import { LEGACY_TAINT } from '../../convert/renames.ts';
import { shellQuoted } from '../../render/shell.ts';
import { counted } from '../../render/table.ts';
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
  title: 'Allow workloads on nodes of Provisioners and NodePools',
  text: [
    'Nodes of NodePools do not have the label karpenter.sh/provisioner-name, so pods that select it are not scheduled on them.',
    'Allow both labels until the last Provisioner is deleted. Pods that require that provisioner-name does not exist must require the same for karpenter.sh/nodepool.',
    'Keep karpenter.sh/do-not-evict and do-not-consolidate in addition to karpenter.sh/do-not-disrupt for now.',
  ],
  commands: [
    'karpenter migrate status   # WORKLOADS lists the required changes',
    'karpenter convert -f manifests -R --diff   # shows the final state',
  ],
  check: ['kubectl get pods -A --field-selector status.phase=Pending: no pod waits for a label'],
});

function pools({ provisioners, nodeTemplates, nodeRole }: Found): MigrationStep {
  return {
    title: 'Create a NodePool for each Provisioner',
    text: [
      `Provisioners: ${provisioners.join(', ') || 'none'}; AWSNodeTemplates: ${nodeTemplates.join(', ') || 'none'}.`,
      'This version serves v1beta1, which its own tool writes. karpenter convert writes v1, for the step after 1.0.',
      'spec.role is the name of the node role, not its ARN and not an instance profile. A role that already has access to the cluster, such as the role of a managed node group, needs no new access entry.',
      'Defaults of the alpha version are written explicitly, because a NodePool without karpenter.sh/capacity-type launches spot instances.',
    ],
    commands: [
      'go install github.com/aws/karpenter/tools/karpenter-convert/cmd/karpenter-convert@v0.32.9',
      ...(provisioners.length + nodeTemplates.length === 0
        ? []
        : [
            `kubectl get ${[...provisioners.map((name) => `provisioner/${name}`), ...nodeTemplates.map((name) => `awsnodetemplate/${name}`)].join(' ')} -o yaml > alpha.yaml`,
          ]),
      `export KARPENTER_NODE_ROLE=${nodeRole ?? 'NAME'}`,
      'karpenter-convert -f alpha.yaml | envsubst > beta.yaml   # review it before applying',
      'kubectl apply -f beta.yaml',
    ],
    check: [
      'kubectl get nodepools,ec2nodeclasses: one for each Provisioner and AWSNodeTemplate',
      'kubectl describe ec2nodeclasses: the status has subnets, security groups and AMIs',
    ],
    back: ['kubectl delete -f beta.yaml, as long as no NodeClaim belongs to it'],
  };
}

/** Adds a taint to Provisioners. A merge patch replaces the list, so the patch also contains the existing taints. */
function taint({ provisioners, provisionerTaints }: Found): MigrationStep {
  const patch = (name: string, taints: readonly object[]): string =>
    `kubectl patch provisioner ${name} --type merge -p ${shellQuoted(JSON.stringify({ spec: { taints } }))}`;
  const before = (name: string) => (provisionerTaints.get(name) ?? []).filter(({ key }) => key !== LEGACY_TAINT);
  const legacy = { key: LEGACY_TAINT, value: 'true', effect: 'NoSchedule' };
  return {
    title: 'Keep new pods off the old Provisioners',
    text: [
      `With the taint ${LEGACY_TAINT}, a Provisioner launches no nodes for pods without a toleration. With the feature gate Drift, its nodes are drifted from now on.`,
    ],
    warnings: [
      'Do not run kubectl delete provisioner in this step, because it deletes all nodes of the Provisioner immediately.',
    ],
    commands: provisioners.map((name) => patch(name, [...before(name), legacy])),
    check: ['a new pod is scheduled on a node with the label karpenter.sh/nodepool'],
    back: provisioners.map((name) => patch(name, before(name))),
  };
}

function replace({ oldNodes }: Found): MigrationStep {
  return {
    title: 'Replace the old nodes',
    text: [
      `Nodes of Provisioners: ${counted(oldNodes.length, 'node')}${oldNodes.length > 0 ? `, ${oldNodes.join(', ')}` : ''}.`,
      'Their Machines are not converted to NodeClaims and are deleted with the nodes.',
      'With the feature gate Drift, the nodes are replaced automatically, one at a time. Without it, or for remaining nodes:',
    ],
    commands: oldNodes.flatMap((name) => [
      `kubectl drain ${name} --ignore-daemonsets --delete-emptydir-data && kubectl delete node ${name}`,
    ]),
    check: [
      'after each node, kubectl get pods -A --field-selector status.phase=Pending: no pending pods',
      'kubectl get machines: no Machines',
    ],
    back: ['kubectl uncordon NODE, for nodes that are not drained yet'],
  };
}

const remove = ({ provisioners, nodeTemplates }: Found): MigrationStep => ({
  title: 'Delete the alpha objects',
  text: ['Delete them only when none of their nodes and Machines exist.'],
  warnings: [
    'Deleting a Provisioner deletes its nodes. Deleting its CRD deletes all Provisioners and all their nodes.',
  ],
  commands: [
    'kubectl get machines && kubectl get nodes -l karpenter.sh/provisioner-name   # both must be empty',
    ...provisioners.map((name) => `kubectl delete provisioner ${name}`),
    ...nodeTemplates.map((name) => `kubectl delete awsnodetemplate ${name}`),
  ],
  check: ['kubectl get provisioners,machines,awsnodetemplates: no objects'],
  back: ['kubectl apply -f before.yaml restores the objects, but not the nodes'],
});
