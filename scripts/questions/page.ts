/** Renders docs/questions.md: the most common questions, with the output of the commands that answer them in one scene. */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import {
  EC2_NODE_CLASS,
  type EC2NodeClass,
  type KubeObject,
  NODE_POOL,
  NODEPOOL_LABEL,
  type NodePool,
} from '#api/objects';
import { runCommandLine } from '#cli/testing';
import { startWorld, type World } from '#local/world';
import { fitToAccount } from '#replay/testing';
import { heading } from '../reference/markdown.ts';
import { objectsOf, playScene, type Scene } from './scene.ts';

/** Columns of the outputs, so that a page shows them without scrolling. */
const WIDTH = 118;
/** Most lines of an output, so that the page shows its form. The reader runs the command for the rest. */
const MOST_LINES = 12;
const FIXTURES = join(import.meta.dirname, 'fixtures');
const CLUSTER = 'prod';

interface Question {
  readonly title: string;
  readonly text: string;
  readonly commands: readonly Asked[];
}

interface Asked {
  /** Arguments as the reader types them. */
  readonly args: readonly string[];
  /** Arguments that only this page needs, such as the address of the operator of the scene. */
  readonly hidden?: readonly string[];
  /** First line that is not shown. */
  readonly until?: RegExp;
  /** Most lines, if the output ends with its most important part. */
  readonly most?: number;
  /** True if the last line is shown too. */
  readonly total?: boolean;
  /** Lines that `grep -v` removes. */
  readonly without?: RegExp;
}

/** Returns the questions with the names of the objects in the scene. */
function questionsOf({ url, now, objects }: Scene, folder: string): readonly Question[] {
  const live = ['--server', url];
  const time = ['--now', now];
  const nameOf = (kind: string, isIt: (object: NamedObject) => boolean): string => {
    const found = (objects as readonly NamedObject[]).find((object) => object.kind === kind && isIt(object));
    if (found === undefined) throw new Error(`The scene of docs/questions.md has no such ${kind}`);
    return found.metadata.name;
  };
  const podOf = (app: string): string => nameOf('Pod', ({ metadata }) => metadata.labels?.app === app);
  const claimOn = (app: string): string => {
    const node = (objects as readonly NamedObject[]).find(({ metadata }) => metadata.name === podOf(app))?.spec
      ?.nodeName;
    return nameOf('NodeClaim', ({ status }) => status?.nodeName === node);
  };
  const waiting = nameOf(
    'Pod',
    ({ metadata, spec }) => metadata.labels?.app === 'embed' && spec?.nodeName === undefined,
  );
  const lost = nameOf('NodeClaim', ({ status }) => status?.nodeName === undefined);
  const kept = nameOf('Node', ({ metadata }) => metadata.labels?.[NODEPOOL_LABEL] === 'default');
  const dump = ['-f', 'now.yaml'];
  const fixture = (name: string): readonly string[] => ['-f', name];
  return [
    {
      title: 'Why is my pod pending?',
      text: 'Without a name, the command lists all pending pods by reason. With a name, it has the reason of each NodePool.',
      commands: [
        { args: ['explain', 'pod'], hidden: live },
        { args: ['explain', 'pod', waiting, '-n', 'ml'], hidden: live },
      ],
    },
    {
      title: 'Why was this node launched, and why this instance type?',
      text: 'The table has the cheapest offerings, and the reason why each was not chosen.',
      commands: [{ args: ['explain', 'nodeclaim', claimOn('search')], hidden: live, most: 15 }],
    },
    {
      title: 'Why is this node spot or on-demand?',
      text: 'See `capacity` in the same output.',
      commands: [{ args: ['explain', 'nodeclaim', claimOn('ledger')], hidden: live, until: /^ALTERNATIVE/ }],
    },
    {
      title: 'Why does this node not join the cluster?',
      text: 'The causes are in the order of their probability, with a command that checks each.',
      commands: [{ args: ['explain', 'nodeclaim', lost], hidden: live, until: /^ALTERNATIVE/, most: 24 }],
    },
    {
      title: 'Why was my node removed?',
      text: 'Consolidations have their savings. Other disruptions are in the events of the NodeClaims, and in `karpenter report`.',
      commands: [{ args: ['report', 'moves'], hidden: live }],
    },
    {
      title: 'Why is this node not removed?',
      text: 'The [codes](why-not.md#codes) have remedies. With the name of a node, the command has the result of each method.',
      commands: [{ args: ['explain', 'node'], hidden: [...live, ...time] }],
    },
    {
      title: 'Which objects block consolidation and drains?',
      text: 'The list has all blockers of each node, and the cost of the wait.',
      commands: [{ args: ['explain', 'blockers'], hidden: live }],
    },
    {
      title: 'How much do the nodes cost, and which NodePool costs most?',
      text: '`--by` also accepts zone and workload, `--history` shows past costs, and `karpenter efficiency` unused requests.',
      commands: [{ args: ['cost'], hidden: live }],
    },
    {
      title: 'Which nodes would be launched if I scale a workload, drain a node or change a NodePool?',
      text: '`karpenter snapshot > now.yaml` writes the objects of the cluster. Nothing is changed.',
      commands: [
        {
          args: ['simulate', ...dump, '--what-if', 'scale shop/deploy/web=20'],
          hidden: time,
          until: /^UNSCHEDULABLE/,
          total: true,
        },
        {
          args: ['simulate', ...dump, '--what-if', `drain ${kept}`],
          hidden: time,
          until: /^UNSCHEDULABLE/,
          total: true,
        },
        { args: ['explain', 'pod', ...dump, '-n', 'ml', '--what-if', 'nodepool-gpu.yaml'], hidden: time },
      ],
    },
    {
      title: 'How would a migration from cluster-autoscaler or an older Karpenter change my manifests?',
      text: 'Conversions report every assumption. [Migration](migrate.md) has the complete procedure.',
      commands: [
        { args: ['convert', 'cluster-autoscaler', ...fixture('autoscaler.yaml'), ...fixture('nodegroup.json')] },
        { args: ['convert', ...fixture('provisioner.yaml'), '--diff'] },
      ],
    },
    {
      title: 'Which offerings are sold out?',
      text: 'Offerings are tried again at the time in the last column.',
      commands: [{ args: ['offerings'], hidden: live }],
    },
    {
      title: 'Is my installation healthy?',
      text: 'The command only reads, and tries calls with dry runs. Here the security groups of an EC2NodeClass are not found.',
      commands: [
        {
          without: /^ok/,
          args: ['doctor', '--cluster-name', CLUSTER, '--interruption-queue', CLUSTER],
          hidden: ['--kubeconfig', join(folder, 'kubeconfig')],
        },
      ],
    },
  ];
}

interface NamedObject extends KubeObject {
  readonly spec?: { readonly nodeName?: string };
  readonly status?: { readonly nodeName?: string };
}

/** Runs a command line in this process, and returns its output. */
async function outputOf(args: readonly string[]): Promise<string> {
  const written: string[] = [];
  const streams = [process.stdout, process.stderr];
  const before = streams.map(({ write, columns }) => ({ write, columns }));
  for (const stream of streams)
    Object.assign(stream, {
      columns: WIDTH,
      write: (text: string | Uint8Array, ...rest: readonly unknown[]) => {
        written.push(String(text));
        const done = rest.at(-1);
        if (typeof done === 'function') done();
        return true;
      },
    });
  try {
    await runCommandLine(args);
    return written.join('');
  } finally {
    for (const [index, stream] of streams.entries()) Object.assign(stream, before[index]);
    process.exitCode = undefined;
  }
}

/** Returns the lines that the page shows. */
function shownLines(text: string, { until, without, most = MOST_LINES, total = false }: Asked): readonly string[] {
  const lines = text
    .trimEnd()
    .split('\n')
    .filter((line) => !without?.test(line));
  const end = until === undefined ? -1 : lines.findIndex((line) => until.test(line));
  const first = end < 0 ? lines : lines.slice(0, end);
  const shown = first.slice(0, most).map((line) => line.trimEnd());
  while (shown.at(-1) === '') shown.pop();
  if (shown.length === lines.length) return shown;
  return total ? [...shown, '...', ...lines.slice(-1)] : [...shown, '...'];
}

const quoted = (arg: string): string => (/[^\w./=:@-]/.test(arg) ? `"${arg}"` : arg);

/** Addresses and IDs of the local world differ between two runs. */
const withoutChance = (text: string): string =>
  text
    .replaceAll(/\b(sg|subnet|vpc|ami)-[0-9a-f]{17}\b/g, '$1-0123456789abcdef0')
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:8080');

async function answerLines(asked: Asked): Promise<readonly string[]> {
  const { args, hidden = [] } = asked;
  const text = withoutChance(await outputOf([...args, ...hidden]));
  return [
    '```console',
    `$ karpenter ${args.map(quoted).join(' ')}${asked.without === undefined ? '' : ` | grep -v '${asked.without.source}'`}`,
    ...shownLines(text, asked),
    '```',
    '',
  ];
}

/** Starts an installation that has a mistake, because a page without findings shows no remedies. */
async function startInstallation(folder: string): Promise<World> {
  const world = await startWorld({ clusterName: CLUSTER });
  const securityGroupSelectorTerms = [{ tags: { Name: 'nodes' } }];
  for (const object of objectsOf('first')) {
    const fitted = fitToAccount(object, CLUSTER) as KubeObject & { readonly spec: object };
    if (object.kind === NODE_POOL.kind) await world.kube.client.create(NODE_POOL, fitted as NodePool);
    else
      await world.kube.client.create(EC2_NODE_CLASS, {
        ...fitted,
        spec: { ...fitted.spec, securityGroupSelectorTerms },
      } as KubeObject as EC2NodeClass);
  }
  writeFileSync(join(folder, 'kubeconfig'), world.kube.kubeconfig());
  return world;
}

/** Returns the text of docs/questions.md. Takes some seconds. */
export async function questionsPage(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'questions-'));
  const [cwd, environment] = [process.cwd(), { ...process.env }];
  const scene = await playScene();
  const world = await startInstallation(folder);
  try {
    cpSync(FIXTURES, folder, { recursive: true });
    writeFileSync(join(folder, 'now.yaml'), stringify({ apiVersion: 'v1', kind: 'List', items: scene.objects }));
    process.chdir(folder);
    Object.assign(process.env, world.aws.env());
    const lines: string[] = [];
    for (const { title, text, commands } of questionsOf(scene, folder)) {
      lines.push(`## ${title}`, '', text, '');
      for (const command of commands) lines.push(...(await answerLines(command)));
    }
    return `${[...heading('Questions', 'scripts/questions'), ...INTRODUCTION, ...lines].join('\n').trimEnd()}\n`;
  } finally {
    process.env = environment;
    process.chdir(cwd);
    scene.close();
    await world.stop();
    rmSync(folder, { recursive: true });
  }
}

const INTRODUCTION = [
  'Use this page to find the command for your question. All outputs are from one cluster with the workloads of a shop and two',
  'NodePools. Commands without `-f` read from the leading operator; the [command line](reference/cli/README.md) has all options.',
  '',
];
