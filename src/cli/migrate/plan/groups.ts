/** From groups of nodes, with or without cluster-autoscaler, to NodePools. */

import { quoted } from '../../render/shell.ts';
import { inShort } from '../../render/table.ts';
import type { Found, Group } from './found.ts';
import type { Source, Step } from './step.ts';

export type GroupSource = Extract<Source, 'cluster-autoscaler' | 'managed-node-groups'>;

/** Stands for a group that nothing names. */
const UNNAMED = 'GROUP';

const nameOf = ({ name }: Group): string => name ?? UNNAMED;
const fileOf = (group: Group): string => `${nameOf(group).replaceAll(/[^\w.-]/g, '-')}.json`;

export interface Sorted {
  /** Holds the controller: nodes that Karpenter makes may not hold it. */
  readonly host: Group | undefined;
  readonly leaving: readonly Group[];
}

const HOST_NAME = /system|infra|core|control|mgmt|management|karpenter|addons?/i;

/** A group of a telling name, else the smallest in two zones; the user is told to choose another, if that is wrong. */
export function sorted(groups: readonly Group[]): Sorted {
  const bySize = groups.toSorted((a, b) => a.nodes.length - b.nodes.length);
  const host =
    bySize.find(({ name = '' }) => HOST_NAME.test(name)) ??
    bySize.find(({ zones, nodes }) => zones.length > 1 && nodes.length > 1);
  return { host, leaving: groups.filter((group) => group !== host) };
}

export function groupSteps(found: Found, from: GroupSource): readonly Step[] {
  const { host, leaving } = sorted(found.groups);
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

const describeGroup = ({ clusterName }: Found, group: Group): string =>
  group.kind === 'managed-node-group'
    ? `aws eks describe-nodegroup --cluster-name ${quotedName(clusterName)} --nodegroup-name ${quoted(nameOf(group))} > ${fileOf(group)}`
    : `aws autoscaling describe-auto-scaling-groups --auto-scaling-group-names ${quoted(nameOf(group))} > ${fileOf(group)}`;

/** A variable of the shell stays one. */
const quotedName = (name: string): string => (name.startsWith('$') ? `"${name}"` : quoted(name));

const keep = (found: Found, leaving: readonly Group[]): Step => ({
  title: 'Keep what there is',
  text: ['The groups stay as they are until pods have left them; these files say what they were.'],
  commands: [
    'karpenter snapshot > now.yaml',
    ...leaving.map((group) => describeGroup(found, group)),
    ...(found.autoscaler === undefined
      ? []
      : [
          `kubectl get deployment ${found.autoscaler.deployment.metadata.name} -n ${found.autoscaler.deployment.metadata.namespace} -o yaml > cluster-autoscaler.yaml`,
        ]),
  ],
  check: ['each file has its group: minSize, maxSize and desiredSize are what the way back needs'],
});

const crds = ({ namespace }: Found): Step => ({
  title: 'CRDs',
  text: ['They come from their own chart, which upgrades them later; the main chart would not.'],
  warnings: ['Never delete these CRDs once there are NodePools: their nodes go with them.'],
  commands: [`helm upgrade --install karpenter-crd charts/karpenter-crd -n ${namespace}`],
  check: ['kubectl get crd nodepools.karpenter.sh nodeclaims.karpenter.sh ec2nodeclasses.karpenter.k8s.aws'],
  back: [`helm uninstall karpenter-crd -n ${namespace}, as long as there is no NodeClaim`],
});

const account = ({ clusterName }: Found): Step => ({
  title: 'Rights, role, queue and tags in AWS',
  text: [
    'A role for the controller, a role for nodes that the cluster knows, a queue for interruptions, and tags by which subnets and security groups are found.',
    'The role of a managed node group can be shared: the cluster knows it already. Another needs an access entry of type EC2_LINUX.',
  ],
  commands: [
    `aws cloudformation deploy --stack-name Karpenter-${quotedName(clusterName)} --capabilities CAPABILITY_NAMED_IAM --template-file examples/aws/cloudformation.yaml --parameter-overrides ClusterName=${quotedName(clusterName)}`,
    `aws eks create-access-entry --cluster-name ${quotedName(clusterName)} --principal-arn "$NODE_ROLE_ARN" --type EC2_LINUX`,
    'aws iam create-service-linked-role --aws-service-name spot.amazonaws.com   # if spot is used; fails when it exists, which is fine',
    `aws ec2 create-tags --tags Key=karpenter.sh/discovery,Value=${quotedName(clusterName)} --resources SUBNETS SECURITY_GROUPS`,
  ],
  check: [`karpenter doctor --cluster-name ${quotedName(clusterName)}, after the next step: no error`],
  back: [`aws cloudformation delete-stack --stack-name Karpenter-${quotedName(clusterName)}`],
});

function chart({ namespace, clusterName }: Found, host: Group | undefined): Step {
  const hostText =
    host === undefined
      ? 'No group is left for it: keep one with two nodes in two zones, or use Fargate.'
      : `The group ${nameOf(host)} (${host.nodes.length} nodes in ${host.zones.join(', ')}) stays for it and for other pods of the system; choose another if that is wrong.`;
  const label =
    host?.kind === 'managed-node-group' ? ` --set 'nodeSelector.eks\\.amazonaws\\.com/nodegroup=${nameOf(host)}'` : '';
  return {
    title: 'The operator',
    text: ['It may not run on nodes that it makes.', hostText],
    commands: [
      `helm upgrade --install karpenter charts/karpenter -n ${namespace} --skip-crds --set settings.clusterName=${quotedName(clusterName)} --set settings.interruptionQueue=${quotedName(clusterName)} --set controller.image.repository="$IMAGE"${label} --wait`,
    ],
    check: [
      `kubectl get pods -n ${namespace} -l app.kubernetes.io/name=karpenter -o wide: two Running, in two zones`,
      `karpenter doctor --cluster-name ${quotedName(clusterName)}: no error`,
    ],
    back: [`helm uninstall karpenter -n ${namespace}, as long as there is no NodeClaim`],
  };
}

function pools({ facts }: Found, leaving: readonly Group[], from: GroupSource): Step {
  const files = leaving.map((group) => `-f ${fileOf(group)}`).join(' ');
  const isScaled = from === 'cluster-autoscaler' && facts.autoscalers.length > 0;
  const scaling = leaving.some(({ kind }) => kind === 'auto-scaling-group');
  const convert = isScaled
    ? `karpenter convert cluster-autoscaler -f cluster-autoscaler.yaml ${files}`
    : `karpenter convert ${scaling ? 'auto-scaling-groups' : 'managed-node-groups'} ${files}`;
  return {
    title: 'NodePools and EC2NodeClasses for the groups',
    text: [
      `Groups that go: ${leaving.map(nameOf).join(', ') || 'none'}. Every assumption is a comment in the result: read it.`,
      'The second command says whether the present pods fit, and what the nodes cost before and after; it ends with 2 if one does not fit.',
      'Nothing is bought for pods that run: NodePools get work when groups are drained, or new pods come.',
      'cluster-autoscaler.kubernetes.io/safe-to-evict: "false" becomes karpenter.sh/do-not-disrupt: "true" in your manifests.',
    ],
    commands: [
      `${convert} > nodepools.yaml`,
      `${convert} --pods now.yaml > /dev/null`,
      'karpenter convert -f manifests -R --diff   # annotations of workloads; --in-place writes them',
      'kubectl apply -f nodepools.yaml',
    ],
    check: [
      'kubectl get nodepools,ec2nodeclasses: all READY',
      'spec.limits of each NodePool is as large as its groups could grow',
    ],
    back: ['kubectl delete -f nodepools.yaml: nodes that they have made drain and end'],
  };
}

function stopAutoscaler({ autoscaler }: Found): Step {
  const { name, namespace } = autoscaler?.deployment.metadata ?? {
    name: 'cluster-autoscaler',
    namespace: 'kube-system',
  };
  const replicas = autoscaler?.deployment.spec.replicas || 1;
  return {
    title: 'Stop cluster-autoscaler',
    text: [
      'Two autoscalers answer one pending pod with two nodes, and cluster-autoscaler fills again what is drained. From here on only the operator buys.',
    ],
    commands: [`kubectl scale deployment ${name} -n ${namespace} --replicas 0`],
    check: [
      `kubectl get deployment ${name} -n ${namespace}: 0/0`,
      'a new pod that fits nowhere gets a node of a NodePool: kubectl get nodeclaims -w',
    ],
    back: [
      `kubectl scale deployment ${name} -n ${namespace} --replicas ${replicas}, and scale the operator to 0 first`,
    ],
  };
}

function drain(group: Group): Step {
  return {
    title: `Drain ${nameOf(group)}`,
    text: [
      `${group.nodes.length} nodes: ${group.nodes.join(', ')}.`,
      'Cordon all of them first, so that no pod moves from one to the next. Then one after the other: the operator buys nodes for what becomes pending.',
      'A PodDisruptionBudget may hold a drain up: that is its purpose. karpenter migrate status names those that let none go.',
    ],
    commands: [
      `kubectl cordon ${group.nodes.join(' ')}`,
      ...group.nodes.map((name) => `kubectl drain ${name} --ignore-daemonsets --delete-emptydir-data`),
    ],
    check: [
      'after each of them, kubectl get pods -A --field-selector status.phase=Pending: none waits',
      'kubectl get nodeclaims: all READY',
    ],
    back: [`kubectl uncordon ${group.nodes.join(' ')}`],
  };
}

function scaleDown({ clusterName }: Found, group: Group): Step {
  const name = quoted(nameOf(group));
  const isManaged = group.kind === 'managed-node-group';
  const scale = isManaged
    ? `aws eks update-nodegroup-config --cluster-name ${quotedName(clusterName)} --nodegroup-name ${name} --scaling-config minSize=0,desiredSize=0`
    : `aws autoscaling update-auto-scaling-group --auto-scaling-group-name ${name} --min-size 0 --desired-capacity 0`;
  const back = isManaged
    ? `aws eks update-nodegroup-config --cluster-name ${quotedName(clusterName)} --nodegroup-name ${name} --scaling-config minSize=MIN,desiredSize=DESIRED`
    : `aws autoscaling update-auto-scaling-group --auto-scaling-group-name ${name} --min-size MIN --desired-capacity DESIRED`;
  return {
    title: `Scale ${nameOf(group)} down`,
    text: ['Its nodes are empty but for DaemonSets. The group itself stays, at no cost, as the way back.'],
    commands: [scale],
    check: [`kubectl get nodes: ${inShort(group.nodes)} are gone`],
    back: [`${back}, as ${fileOf(group)} has them`],
  };
}

const cleanUp = ({ clusterName, autoscaler }: Found, leaving: readonly Group[]): Step => ({
  title: 'Clean up',
  text: ['After some days, when you do not want to go back. The group of the controller stays.'],
  commands: [
    ...(autoscaler === undefined
      ? []
      : [
          `kubectl delete deployment ${autoscaler.deployment.metadata.name} -n ${autoscaler.deployment.metadata.namespace}   # or its Helm release, and its IAM role`,
        ]),
    ...leaving.map((group) =>
      group.kind === 'managed-node-group'
        ? `aws eks delete-nodegroup --cluster-name ${quotedName(clusterName)} --nodegroup-name ${quoted(nameOf(group))}`
        : `aws autoscaling delete-auto-scaling-group --auto-scaling-group-name ${quoted(nameOf(group))}`,
    ),
  ],
  check: ['karpenter migrate status ends with 0'],
});
