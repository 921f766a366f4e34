/** Command `karpenter local`. Runs a cluster and a local AWS on loopback addresses until it is interrupted. */
import { Command, InvalidArgumentError } from 'commander';
import type { World } from '../local/world.ts';
import { withExamples } from './describe.ts';
import { freePort } from './free-port.ts';
import { writeLocalKubeconfig } from './local-kubeconfig.ts';
import { machineSpeedOption, machinesAt } from './machines.ts';
import { positive } from './number-arguments.ts';
import { shellQuoted } from './render/shell.ts';
import { indented, terminalWidth } from './render/wrap.ts';

interface LocalOptions {
  readonly timeScale: number;
  readonly machineSpeed: number;
  readonly kubePort?: number;
  readonly awsPort?: number;
  readonly kubeconfig?: string;
  readonly clusterName: string;
  readonly region?: string;
  readonly systemNodes: number;
  readonly quiet: boolean;
}

function whole(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > 65_535)
    throw new InvalidArgumentError('It must be a whole number from 0 to 65535.');
  return value;
}

export function localCommand(): Command {
  return withExamples(new Command('local'), [
    { what: 'until Ctrl-C; it says what to type in a second terminal', command: 'karpenter local' },
    { what: 'with fast machines', command: 'karpenter local --machine-speed 5 --kube-port 6443' },
  ])
    .description('run a local cluster and a local AWS, for your own kubectl, aws and operator')
    .addOption(machineSpeedOption(1))
    .option(
      '--time-scale <factor>',
      "seconds of the world's time per real second, for programs that live in its time",
      positive,
      1,
    )
    .option('--kube-port <port>', 'port of the Kubernetes API; any free one by default', whole)
    .option('--aws-port <port>', 'port of the AWS endpoints; any free one by default', whole)
    .option('--kubeconfig <file>', 'where to write the kubeconfig; by default karpenter-local.kubeconfig')
    .option('--cluster-name <name>', 'name of the cluster', 'local')
    .option('--region <region>', 'AWS region')
    .option('--system-nodes <count>', "nodes from the start, for the operator's own and other system pods", whole, 1)
    .option('--quiet', 'print the exports only', false)
    .action(local);
}

/** Returns `export` lines with the environment of kubectl, aws and the operator. */
export function exportLines(environment: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(environment).map(([name, value]) => `export ${name}=${shellQuoted(value)}`);
}

/** Returns instructions with at most 80 columns, so that a terminal does not break words. */
export const advice = ({ aws, kube }: Pick<World, 'aws' | 'kube'>, livePage: string): string => `
The cluster answers at ${kube.url},
AWS at ${aws.url}.
In another terminal, copy the exports above, then:

  kubectl get nodes                               look around
  npm start                                       the operator (Ctrl-C stops it)
  kubectl apply -f examples/                      a NodePool and a workload
  kubectl scale deployment inflate --replicas 20  pods that need nodes
  kubectl get nodeclaims,nodes,pods -w            watch them come
  kubectl scale deployment inflate --replicas 3   nodes that are not needed
  http://${livePage}/                         all of it in a browser
  npx karpenter explain node                      why each node stays, or goes
  npx karpenter moves                             what was given back, and saved

Faults, switched on while it runs; each is posted:

  curl ${aws.url}/_local/faults -d 'FAULT'

  {"kind":"capacity","instanceType":"c5.*"}       no capacity for a type
  {"kind":"throttle","times":5}                   API throttling
  {"kind":"never-joins","times":1}                an instance that never joins
  {"kind":"slow-boot","ms":60000}                 slow boots

  curl -X DELETE ${aws.url}/_local/faults
                                                  all faults off
  curl -X POST ${aws.url}/_local/instances/ID/interrupt
                                                  spot interruption

Ctrl-C ends it all.
`;

const OUT_OF_STEP =
  'the times in this cluster are not those of an operator started by npm start, which waits and counts in real time; ' +
  'for fast machines in real time use --machine-speed';

async function local(options: LocalOptions): Promise<void> {
  const ended = new Promise<void>((end) => {
    process.once('SIGINT', end).once('SIGTERM', end);
  });
  const { timeScale, machineSpeed, clusterName, systemNodes, kubePort, awsPort, region, quiet } = options;
  const { startWorld } = await import('../local/world.ts');
  const world = await startWorld({
    timeScale,
    ...machinesAt(machineSpeed),
    clusterName,
    systemNodes,
    ...(kubePort === undefined ? {} : { kubePort }),
    ...(awsPort === undefined ? {} : { awsPort }),
    ...(region === undefined ? {} : { region }),
    log: (message) => process.stderr.write(`${message}\n`),
  });
  try {
    const kubeconfig = await writeLocalKubeconfig(options.kubeconfig, world.kube);
    const livePage = `127.0.0.1:${await freePort()}`;
    const exports = { ...world.env(), KUBECONFIG: kubeconfig, LIVE_PAGE: livePage };
    process.stdout.write(`${exportLines(exports).join('\n')}\n`);
    if (timeScale !== 1)
      process.stderr.write(`${indented(`note: ${OUT_OF_STEP}`, '      ', terminalWidth(process.stderr))}\n`);
    if (!quiet) process.stdout.write(advice(world, livePage));
    await ended;
  } finally {
    await world.stop();
  }
}
