/** `karpenter convert eksctl`, `managed-node-groups`, `auto-scaling-groups` and `cluster-autoscaler`. */
import { Command, Option } from 'commander';
import { type Example, withExamples } from '../describe.ts';
import { collect, parseTime } from '../scenario.ts';
import type { GroupFlags, Wanted } from './groups/run-groups.ts';
import { withInput } from './output.ts';
import { onFiles } from './run.ts';

interface Subcommand {
  readonly name: string;
  readonly wanted: Wanted;
  readonly description: string;
  /** Input files, as the help text describes them. */
  readonly input: string;
  readonly examples: readonly Example[];
}

const SUBCOMMANDS: readonly Subcommand[] = [
  {
    name: 'eksctl',
    wanted: 'clusters',
    description: 'Convert the node groups in eksctl files to NodePools and EC2NodeClasses',
    input: 'ClusterConfig files of eksctl',
    examples: [
      {
        what: 'Convert the node groups of an eksctl file',
        command: 'karpenter convert eksctl -f cluster.yaml > nodepools.yaml',
      },
      {
        what: 'Set the role of the nodes, and check that the pods fit',
        command: 'karpenter convert eksctl -f cluster.yaml --role eksctl-dev-nodes --pods now.yaml',
      },
    ],
  },
  {
    name: 'managed-node-groups',
    wanted: 'managed',
    description: 'Convert EKS managed node groups to NodePools and EC2NodeClasses',
    input: 'output of `aws eks describe-nodegroup` and `aws ec2 describe-launch-template-versions`',
    examples: [
      {
        what: 'Describe a group',
        command: 'aws eks describe-nodegroup --cluster-name dev --nodegroup-name web > web.json',
      },
      {
        what: 'Convert several groups',
        command: 'karpenter convert managed-node-groups -f web.json -f batch.json -o nodepools.yaml',
      },
    ],
  },
  {
    name: 'auto-scaling-groups',
    wanted: 'scaling',
    description: 'Convert self-managed groups to NodePools and EC2NodeClasses',
    input: 'output of `aws autoscaling describe-auto-scaling-groups` and `aws ec2 describe-launch-template-versions`',
    examples: [
      {
        what: 'Describe the groups',
        command:
          'aws autoscaling describe-auto-scaling-groups --filters Name=tag-key,Values=kubernetes.io/cluster/dev > groups.json',
      },
      {
        what: 'Describe the launch template',
        command: 'aws ec2 describe-launch-template-versions --launch-template-id lt-0abc > template.json',
      },
      {
        what: 'Convert the groups',
        command: 'karpenter convert auto-scaling-groups -f groups.json -f template.json > nodepools.yaml',
      },
    ],
  },
  {
    name: 'cluster-autoscaler',
    wanted: 'autoscalers',
    description: 'Report the counterparts of the flags and priorities of cluster-autoscaler, and convert its groups',
    input: 'Deployment of cluster-autoscaler, ConfigMap of the priority expander, and files of groups',
    examples: [
      {
        what: 'Convert flags, priorities and groups',
        command:
          'kubectl get deployment,configmap -n kube-system -o yaml | karpenter convert cluster-autoscaler -f - -f groups.json',
      },
      {
        what: 'Check that the pods fit',
        command:
          'karpenter convert cluster-autoscaler -f autoscaler.yaml -f web.json --pods now.yaml -o nodepools.yaml',
      },
    ],
  },
];

const DUMP: Example = {
  what: 'Write the file for --pods',
  command:
    'kubectl get nodes,pods,daemonsets,namespaces,persistentvolumes,persistentvolumeclaims,storageclasses -A -o yaml > now.yaml',
};

function subcommand({ name, wanted, description, input, examples }: Subcommand): Command {
  const command = withInput(new Command(name).description(description), input)
    .option('-o, --output <file>', 'write to this file instead of standard output')
    .option('--role <name>', 'role of the nodes, if the input does not contain it')
    .addOption(
      new Option(
        '--pods <file>',
        'file with the objects of the cluster: report if its pods fit, and the cost before and after; exit with 2 if a pod does ' +
          'not fit; repeatable',
      ).argParser(collect),
    )
    .option(
      '--instance-types <source>',
      'for --pods: JSON file, or http://… address of an operator, used instead of the built-in catalogue',
    )
    .option('--now <time>', 'for --pods: time of the simulation', parseTime);
  withExamples(command, [...examples, DUMP]);
  return onFiles<GroupFlags>(command, async (flags) => {
    const { runGroups } = await import('./groups/run-groups.ts');
    await runGroups(wanted, flags);
  });
}

export const groupCommands = (): readonly Command[] => SUBCOMMANDS.map(subcommand);
