/** Plans the steps from node groups, with or without cluster-autoscaler, to NodePools. */

import { shellQuoted } from '../../render/shell.ts';
import { counted, inShort } from '../../render/table.ts';
import type { Found, LeavingGroup } from './found.ts';
import type { MigrationStep, Source } from './step.ts';

type GroupSource = Extract<Source, 'cluster-autoscaler' | 'managed-node-groups'>;

/** Placeholder for a group without a known name. */
const UNNAMED = 'GROUP';

const nameOf = ({ name }: LeavingGroup): string => name ?? UNNAMED;
const fileOf = (group: LeavingGroup): string => `${nameOf(group).replaceAll(/[^\w.-]/g, '-')}.json`;

interface Sorted {
  /** Group that runs the controller, which must not run on nodes that Karpenter launches. */
  readonly host: LeavingGroup | undefined;
  readonly leaving: readonly LeavingGroup[];
}

const HOST_NAME = /system|infra|core|control|mgmt|management|karpenter|addons?/i;

/**
 * Selects the group that runs the controller: a group with a typical name, or the smallest group in two zones. The
 * plan describes how to choose another.
 */
export function sortGroups(groups: readonly LeavingGroup[]): Sorted {
  const bySize = groups.toSorted((a, b) => a.nodes.length - b.nodes.length);
  const host =
    bySize.find(({ name = '' }) => HOST_NAME.test(name)) ??
    bySize.find(({ zones, nodes }) => zones.length > 1 && nodes.length > 1);
  return { host, leaving: groups.filter((group) => group !== host) };
}

export function groupSteps(found: Found, from: GroupSource): readonly MigrationStep[] {
  const { host, leaving } = sortGroups(found.groups);
  return [
    keep(found, leaving),
    crds(found),
    account(found),
    chart(found, host),
    pools(found, leaving, from),
    ...(found.autoscaler === undefined ? [] : [stopAutoscaler(found)]),
    ...leaving.flatMap((group) => [drain(group), scaleDown(found, group)]),
    cleanUp(found, leaving),
  ];
}

const describeGroup = ({ clusterName }: Found, group: LeavingGroup): string =>
  group.kind === 'managed-node-group'
    ? `aws eks describe-nodegroup --cluster-name ${quotedName(clusterName)} --nodegroup-name ${shellQuoted(nameOf(group))} > ${fileOf(group)}`
    : `aws autoscaling describe-auto-scaling-groups --auto-scaling-group-names ${shellQuoted(nameOf(group))} > ${fileOf(group)}`;

/** Quotes a name. Shell variables are expanded. */
const quotedName = (name: string): string => (name.startsWith('$') ? `"${name}"` : shellQuoted(name));

const keep = (found: Found, leaving: readonly LeavingGroup[]): MigrationStep => ({
  title: 'Save the current state',
  text: ['The groups are not changed until their pods have moved. These files contain their original configuration.'],
  commands: [
    'karpenter snapshot > now.yaml',
    ...leaving.map((group) => describeGroup(found, group)),
    ...(found.autoscaler === undefined
      ? []
      : [
          `kubectl get deployment ${found.autoscaler.deployment.metadata.name} -n ${found.autoscaler.deployment.metadata.namespace} -o yaml > cluster-autoscaler.yaml`,
          ...(hasPriorities(found)
            ? [
                `kubectl get configmap ${PRIORITIES} -n ${found.autoscaler.deployment.metadata.namespace} -o yaml > priorities.yaml`,
              ]
            : []),
        ]),
  ],
  check: ['each file contains its group; a rollback needs minSize, maxSize and desiredSize'],
});

const crds = ({ namespace }: Found): MigrationStep => ({
  title: 'CRDs',
  text: ['The CRDs have their own chart, which can upgrade them later; the main chart cannot.'],
  warnings: ['Never delete these CRDs once NodePools exist, because their nodes would also be deleted.'],
  commands: [`helm upgrade --install karpenter-crd charts/karpenter-crd -n ${namespace}`],
  check: ['kubectl get crd nodepools.karpenter.sh nodeclaims.karpenter.sh ec2nodeclasses.karpenter.k8s.aws'],
  back: [`helm uninstall karpenter-crd -n ${namespace}, as long as no NodeClaim exists`],
});

const account = ({ clusterName, namespace }: Found): MigrationStep => ({
  title: 'Set up permissions, role, queue and tags in AWS',
  text: [
    'The stack creates the role of the controller with a Pod Identity association, the node role with an access entry, and the interruption queue. docs/install.md describes its parameters, for example for IRSA and for clusters without access entries.',
    'EC2NodeClasses can also use the role of a managed node group, which already has access to the cluster.',
  ],
  commands: [
    `aws eks create-addon --cluster-name ${quotedName(clusterName)} --addon-name eks-pod-identity-agent   # an error that it exists can be ignored`,
    `aws cloudformation deploy --stack-name "Karpenter-${clusterName}" --capabilities CAPABILITY_NAMED_IAM --template-file examples/aws/cloudformation.yaml --parameter-overrides ClusterName=${quotedName(clusterName)} Namespace=${namespace}`,
    'aws iam create-service-linked-role --aws-service-name spot.amazonaws.com   # if spot is used; an error that it exists can be ignored',
    `aws ec2 create-tags --tags Key=karpenter.sh/discovery,Value=${quotedName(clusterName)} --resources SUBNETS SECURITY_GROUPS`,
  ],
  check: [`karpenter doctor --cluster-name ${quotedName(clusterName)}, after the next step: no errors`],
  back: [`aws cloudformation delete-stack --stack-name "Karpenter-${clusterName}"`],
});

function chart({ namespace, clusterName }: Found, host: LeavingGroup | undefined): MigrationStep {
  const hostText =
    host === undefined
      ? 'No group remains for the operator; keep a group with two nodes in two zones, or use Fargate.'
      : `The group ${nameOf(host)} (${counted(host.nodes.length, 'node')} in ${host.zones.join(', ')}) stays for the operator and other system pods; choose another group if necessary.`;
  const label =
    host?.kind === 'managed-node-group' ? ` --set 'nodeSelector.eks\\.amazonaws\\.com/nodegroup=${nameOf(host)}'` : '';
  return {
    title: 'Install the operator',
    text: ['The operator must not run on nodes that it launches.', hostText],
    commands: [
      `helm upgrade --install karpenter charts/karpenter -n ${namespace} --skip-crds --set settings.clusterName=${quotedName(clusterName)} --set settings.interruptionQueue=${quotedName(clusterName)} --set controller.image.repository="$IMAGE"${label} --wait`,
    ],
    check: [
      `kubectl get pods -n ${namespace} -l app.kubernetes.io/name=karpenter -o wide: two pods are Running, in two zones`,
      `karpenter doctor --cluster-name ${quotedName(clusterName)}: no errors`,
    ],
    back: [`helm uninstall karpenter -n ${namespace}, as long as no NodeClaim exists`],
  };
}

const PRIORITIES = 'cluster-autoscaler-priority-expander';
const hasPriorities = ({ autoscaler }: Found): boolean =>
  autoscaler?.flags?.some((flag) => /^--expander=.*priority/.test(flag)) ?? false;

/** Returns the commands that create NodePools, from the flags of cluster-autoscaler or from each kind of group. */
function conversions(found: Found, leaving: readonly LeavingGroup[], from: GroupSource): readonly string[] {
  const filesOf = (groups: readonly LeavingGroup[]): string => groups.map((group) => ` -f ${fileOf(group)}`).join('');
  if (from === 'cluster-autoscaler' && found.autoscaler !== undefined) {
    const priorities = hasPriorities(found) ? ' -f priorities.yaml' : '';
    return [`karpenter convert cluster-autoscaler -f cluster-autoscaler.yaml${priorities}${filesOf(leaving)}`];
  }
  const kinds = { 'managed-node-groups': 'managed-node-group', 'auto-scaling-groups': 'auto-scaling-group' } as const;
  return Object.entries(kinds).flatMap(([verb, kind]) => {
    const own = leaving.filter((group) => group.kind === kind);
    return own.length === 0 ? [] : [`karpenter convert ${verb}${filesOf(own)}`];
  });
}

function pools(found: Found, leaving: readonly LeavingGroup[], from: GroupSource): MigrationStep {
  const [first, second] = conversions(found, leaving, from);
  return {
    title: 'Create NodePools and EC2NodeClasses for the groups',
    text: [
      `Groups to replace: ${leaving.map(nameOf).join(', ') || 'none'}. Review the result; each assumption is marked with a comment.`,
      'With --pods, the command reports if the present pods fit and the cost before and after, and exits with 2 if a pod does not fit.',
      'If the command requires a launch template, add the output of aws ec2 describe-launch-template-versions with another -f.',
      'No nodes are launched for running pods. NodePools launch nodes when groups are drained or new pods are created.',
      'cluster-autoscaler.kubernetes.io/safe-to-evict: "false" becomes karpenter.sh/do-not-disrupt: "true" in the folder manifests with your workloads.',
    ],
    commands: [
      first === undefined
        ? '(cat examples/ec2nodeclass.yaml; echo ---; cat examples/nodepool.yaml) > nodepools.yaml   # adjust the role and the tags'
        : `${first} --pods now.yaml > nodepools.yaml`,
      ...(second === undefined ? [] : [`echo --- >> nodepools.yaml && ${second} --pods now.yaml >> nodepools.yaml`]),
      'karpenter convert -f manifests -R --diff   # --in-place writes the changes',
      'kubectl apply -f nodepools.yaml',
    ],
    check: [
      'kubectl get nodepools,ec2nodeclasses: all are READY',
      'spec.limits of each NodePool allows the maximum size of its groups',
    ],
    back: ['uncordon the groups, then kubectl delete -f nodepools.yaml, which drains and terminates the new nodes'],
  };
}

function stopAutoscaler({ autoscaler }: Found): MigrationStep {
  const { name, namespace } = autoscaler?.deployment.metadata ?? {
    name: 'cluster-autoscaler',
    namespace: 'kube-system',
  };
  const replicas = autoscaler?.deployment.spec.replicas || 1;
  return {
    title: 'Stop cluster-autoscaler',
    text: [
      'Two autoscalers would launch two nodes for one pending pod, and cluster-autoscaler would scale up drained groups again. From here on, only the operator launches nodes.',
    ],
    commands: [`kubectl scale deployment ${name} -n ${namespace} --replicas 0`],
    check: [
      `kubectl get deployment ${name} -n ${namespace}: 0/0`,
      'kubectl get nodeclaims -w: a NodePool launches a node for a new pod that does not fit on existing nodes',
    ],
    back: [
      `kubectl scale deployment ${name} -n ${namespace} --replicas ${replicas}, and scale the operator to 0 first`,
    ],
  };
}

function drain(group: LeavingGroup): MigrationStep {
  return {
    title: `Drain ${nameOf(group)}`,
    text: [
      `${counted(group.nodes.length, 'node')}: ${group.nodes.join(', ')}.`,
      'Cordon all nodes first, so that pods do not move to another node of the group. Then drain one node at a time. The operator launches nodes for pods that become pending.',
      'PodDisruptionBudgets can delay a drain. karpenter migrate status lists those that allow no eviction.',
    ],
    commands: [
      `kubectl cordon ${group.nodes.join(' ')}`,
      ...group.nodes.map((name) => `kubectl drain ${name} --ignore-daemonsets --delete-emptydir-data`),
    ],
    check: [
      'after each node, kubectl get pods -A --field-selector status.phase=Pending: no pending pods',
      'kubectl get nodeclaims: all are READY',
    ],
    back: [`kubectl uncordon ${group.nodes.join(' ')}`],
  };
}

function scaleDown({ clusterName }: Found, group: LeavingGroup): MigrationStep {
  const name = shellQuoted(nameOf(group));
  const isManaged = group.kind === 'managed-node-group';
  const scale = isManaged
    ? `aws eks update-nodegroup-config --cluster-name ${quotedName(clusterName)} --nodegroup-name ${name} --scaling-config minSize=0,desiredSize=0`
    : `aws autoscaling update-auto-scaling-group --auto-scaling-group-name ${name} --min-size 0 --desired-capacity 0`;
  const back = isManaged
    ? `aws eks update-nodegroup-config --cluster-name ${quotedName(clusterName)} --nodegroup-name ${name} --scaling-config minSize=MIN,desiredSize=DESIRED`
    : `aws autoscaling update-auto-scaling-group --auto-scaling-group-name ${name} --min-size MIN --desired-capacity DESIRED`;
  return {
    title: `Scale ${nameOf(group)} down`,
    text: ['Its nodes run only DaemonSet pods. The empty group is kept at no cost for a rollback.'],
    commands: [scale],
    check: [`kubectl get nodes: does not list ${inShort(group.nodes)}`],
    back: [`${back}, with the values in ${fileOf(group)}`],
  };
}

const cleanUp = ({ clusterName, autoscaler }: Found, leaving: readonly LeavingGroup[]): MigrationStep => ({
  title: 'Clean up',
  text: ['Clean up after some days, when you do not need a rollback. Keep the group of the controller.'],
  commands: [
    ...(autoscaler === undefined
      ? []
      : [
          `kubectl delete deployment ${autoscaler.deployment.metadata.name} -n ${autoscaler.deployment.metadata.namespace}   # or its Helm release, and its IAM role`,
        ]),
    ...leaving.map((group) =>
      group.kind === 'managed-node-group'
        ? `aws eks delete-nodegroup --cluster-name ${quotedName(clusterName)} --nodegroup-name ${shellQuoted(nameOf(group))}`
        : `aws autoscaling delete-auto-scaling-group --auto-scaling-group-name ${shellQuoted(nameOf(group))}`,
    ),
  ],
  check: ['karpenter migrate status exits with 0'],
});
