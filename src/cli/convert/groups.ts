/** `karpenter convert eksctl`, `managed-node-groups`, `auto-scaling-groups` and `cluster-autoscaler`. */
import { Command, Option } from 'commander';
import { type Example, withExamples } from '../describe.ts';
import { collect, time } from '../scenario.ts';
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
    description: 'Convert the node groups in files of eksctl to NodePools and EC2NodeClasses',
    input: 'ClusterConfigs of eksctl',
    examples: [
      {
        what: 'Convert the groups of a file of eksctl',
        command: 'karpenter convert eksctl -f cluster.yaml > nodepools.yaml',
      },
      {
        what: 'Name the role of the nodes, and prove that the pods fit',
        command: 'karpenter convert eksctl -f cluster.yaml --role eksctl-dev-nodes --pods now.yaml',
      },
    ],
  },
  {
    name: 'managed-node-groups',
    wanted: 'managed',
    description: 'Convert EKS managed node groups to NodePools and EC2NodeClasses',
    input: 'what `aws eks describe-nodegroup` and `aws ec2 describe-launch-template-versions` print',
    examples: [
      {
        what: 'Describe a group',
        command: 'aws eks describe-nodegroup --cluster-name dev --nodegroup-name web > web.json',
      },
      {
        what: 'Convert several',
        command: 'karpenter convert managed-node-groups -f web.json -f batch.json -o nodepools.yaml',
      },
    ],
  },
  {
    name: 'auto-scaling-groups',
    wanted: 'scaling',
    description: 'Convert self-managed groups to NodePools and EC2NodeClasses',
    input: 'what `aws autoscaling describe-auto-scaling-groups` and `aws ec2 describe-launch-template-versions` print',
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
        what: 'Convert them',
        command: 'karpenter convert auto-scaling-groups -f groups.json -f template.json > nodepools.yaml',
      },
    ],
  },
  {
    name: 'cluster-autoscaler',
    wanted: 'autoscalers',
    description:
      'Say what becomes of the flags and priorities of cluster-autoscaler; with its groups, convert them as well',
    input: 'the Deployment, the ConfigMap of the priority expander, and files of groups',
    examples: [
      {
        what: 'Convert the flags and priorities with the groups',
        command:
          'kubectl get deployment,configmap -n kube-system -o yaml | karpenter convert cluster-autoscaler -f - -f groups.json',
      },
      {
        what: 'Prove that the pods fit',
        command:
          'karpenter convert cluster-autoscaler -f autoscaler.yaml -f web.json --pods now.yaml -o nodepools.yaml',
      },
    ],
  },
];

const DUMP: Example = {
  what: 'Write what --pods reads',
  command:
    'kubectl get nodes,pods,daemonsets,namespaces,persistentvolumes,persistentvolumeclaims,storageclasses -A -o yaml > now.yaml',
};

function subcommand({ name, wanted, description, input, examples }: Subcommand): Command {
  const command = withInput(new Command(name).description(description), input)
    .option('-o, --output <file>', 'write to this file instead of standard output')
    .option('--role <name>', 'role of the nodes, where the input does not name it')
    .addOption(
      new Option(
        '--pods <file>',
        'a dump of the cluster: say whether its pods fit, and what the nodes cost now and then; exit code 2 if one does ' +
          'not fit; repeatable',
      ).argParser(collect),
    )
    .option(
      '--instance-types <source>',
      'for --pods: JSON file, or http://… of an operator, in place of the built-in catalogue',
    )
    .option('--now <time>', 'for --pods: the time at which it plays', time);
  withExamples(command, [...examples, DUMP]);
  return onFiles<GroupFlags>(command, async (flags) => {
    const { runGroups } = await import('./groups/run-groups.ts');
    await runGroups(wanted, flags);
  });
}

export const groupCommands = (): readonly Command[] => SUBCOMMANDS.map(subcommand);
