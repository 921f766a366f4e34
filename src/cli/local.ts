/** Command `karpenter local`. Runs a cluster and a local AWS on loopback addresses until it is interrupted. */
import { isIP } from 'node:net';
import { Command, InvalidArgumentError, Option } from 'commander';
import { FAULT_KINDS } from '#local/aws';
import type { Surroundings, WorldOptions } from '#local/world';
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
  readonly ipFamily: 'ipv4' | 'ipv6';
  readonly localZone: boolean;
  readonly systemNodes?: number;
  readonly quiet: boolean;
  readonly join?: string;
  readonly awsAddress?: string;
}

function whole(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > 65_535)
    throw new InvalidArgumentError('It must be an integer from 0 to 65535.');
  return value;
}

function addressOfThisMachine(text: string): string {
  if (isIP(text) === 0 || /^(0\.0\.0\.0|[0:]+)$/.test(text))
    throw new InvalidArgumentError('It must be an IP address of this machine, for example 127.0.0.1.');
  return text;
}

export function localCommand(): Command {
  return withExamples(new Command('local'), [
    { what: 'run until Ctrl-C; prints commands for a second terminal', command: 'karpenter local' },
    {
      what: 'with instances that boot five times faster',
      command: 'karpenter local --machine-speed 5 --kube-port 6443',
    },
    { what: 'add AWS and nodes to a kind cluster', command: 'karpenter local --join kind-kind' },
  ])
    .description('run a local cluster and local AWS endpoints for your own kubectl, aws and operator')
    .addOption(machineSpeedOption(1))
    .option(
      '--time-scale <factor>',
      'virtual seconds per real second, for programs that use the time of the local cluster',
      positive,
      1,
    )
    .option('--kube-port <port>', 'port of the Kubernetes API (default: any free port)', whole)
    .option('--aws-port <port>', 'port of the AWS endpoints (default: any free port)', whole)
    .option('--aws-address <address>', 'IP address of the AWS endpoints (default: 127.0.0.1)', addressOfThisMachine)
    .addOption(
      new Option(
        '--join <context>',
        'add AWS and nodes to the cluster of a context of the kubeconfig, for example of kind',
      ).conflicts(['kubePort', 'timeScale', 'ipFamily']),
    )
    .option('--kubeconfig <file>', 'file for the kubeconfig (default: karpenter-local.kubeconfig)')
    .option('--cluster-name <name>', 'name of the cluster', 'local')
    .option('--region <region>', 'AWS region')
    .addOption(
      new Option('--ip-family <family>', 'addresses of services, pods and nodes')
        .choices(['ipv4', 'ipv6'])
        .default('ipv4'),
    )
    .option('--local-zone', 'add a subnet in a local zone, with few instance types and no spot capacity', false)
    .option('--system-nodes <count>', 'initial nodes, for system pods (default: 1, and 0 with --join)', whole)
    .option('--quiet', 'print only the export commands', false)
    .action(local);
}

/** Returns `export` lines with the environment of kubectl, aws and the operator. */
export function exportLines(environment: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(environment).map(([name, value]) => `export ${name}=${shellQuoted(value)}`);
}

const ADVICE_WIDTH = 80;

/** Returns instructions with at most 80 columns, so that a terminal does not break words. */
export const advice = ({ aws, kube }: Pick<Surroundings, 'aws' | 'kube'>, livePage: string): string => `
The Kubernetes API is served at ${kube.url},
AWS at ${aws.url}.
In another terminal, copy the export commands above. Then run:

  kubectl get nodes                               list the nodes
  npm start                                       start the operator
  kubectl apply -f examples/                      create NodePool and workload
  kubectl scale deployment inflate --replicas 20  create pods that need nodes
  kubectl get nodeclaims,nodes,pods -w            watch launches
  kubectl scale deployment inflate --replicas 3   leave some nodes unused
  http://${livePage}/                         live page
  npx karpenter explain node                      why nodes are not disrupted
  npx karpenter report moves                      consolidations and savings

To inject a fault, post it:

  curl ${aws.url}/_local/faults -d 'FAULT'

  {"kind":"capacity","capacityType":"spot"}       no spot capacity
  {"kind":"throttle","times":5}                   API throttling
  {"kind":"never-joins","times":1}                a node that never registers
  {"kind":"slow-boot","ms":60000}                 slow boots

  ${indented(`kinds: ${FAULT_KINDS.join(', ')}`, '  ', ADVICE_WIDTH - 2)}

  curl -X DELETE ${aws.url}/_local/faults
                                                  remove all faults
  curl -X POST ${aws.url}/_local/instances/ID/interrupt
                                                  spot interruption
  kubectl annotate pod POD local.karpenter-ts.sh/ready=false
                                                  readiness probes that fail

Press Ctrl-C to stop.
`;

const OUT_OF_STEP =
  'with --time-scale, timestamps in this cluster differ from the real time that an operator started by npm start uses; ' +
  'use --machine-speed for faster instances in real time';

const joinNote = (context: string): string =>
  `nodes of the local AWS join the cluster of context "${context}"; their pods have no containers. Install the chart ` +
  'karpenter-crd before you start the operator, and delete the cluster afterwards';

async function start(options: LocalOptions): Promise<Surroundings> {
  const { timeScale, machineSpeed, clusterName, kubePort, awsPort, region } = options;
  const { ipFamily, localZone, awsAddress, join } = options;
  const common = {
    clusterName,
    aws: { localZone, host: awsAddress },
    ...(awsPort === undefined ? {} : { awsPort }),
    ...(region === undefined ? {} : { region }),
    log: (message) => process.stderr.write(`${message}\n`),
  } satisfies WorldOptions;
  const machines = machinesAt(machineSpeed);
  if (join !== undefined) {
    const { joinCluster } = await import('#local/world');
    const { clusterToJoin } = await import('./local-join.ts');
    const { systemNodes = 0 } = options;
    const kubelets = { ...machines.kubelets, reportsAddresses: false };
    return joinCluster(clusterToJoin(join), { ...common, ...machines, kubelets, systemNodes });
  }
  const { startWorld } = await import('#local/world');
  const { systemNodes = 1 } = options;
  return startWorld({
    ...common,
    ...machines,
    timeScale,
    ipFamily,
    systemNodes,
    ...(kubePort === undefined ? {} : { kubePort }),
  });
}

async function local(options: LocalOptions): Promise<void> {
  const ended = new Promise<void>((end) => {
    process.once('SIGINT', end).once('SIGTERM', end);
  });
  const { timeScale, quiet, join } = options;
  const world = await start(options);
  const note = (text: string): void => {
    process.stderr.write(`${indented(`note: ${text}`, '      ', terminalWidth(process.stderr))}\n`);
  };
  try {
    const kubeconfig = await writeLocalKubeconfig(options.kubeconfig, world.kube);
    const livePage = `127.0.0.1:${await freePort()}`;
    const exports = { ...world.env(), KUBECONFIG: kubeconfig, LIVE_PAGE: livePage };
    process.stdout.write(`${exportLines(exports).join('\n')}\n`);
    if (timeScale !== 1) note(OUT_OF_STEP);
    if (join !== undefined) note(joinNote(join));
    if (!quiet) process.stdout.write(advice(world, livePage));
    await ended;
  } finally {
    await world.stop();
  }
}
