/**
 * Command `karpenter mcp`. Serves the read-only commands to assistants over standard input and output, with the Model Context
 * Protocol.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Command } from 'commander';
import { messageOf } from '#lib';
import { withExamples } from './describe.ts';
import { CHANGES_EXIT_CODE, instanceTypesOption, nowOption } from './scenario.ts';
import { refuseTwoSources, type SourceFlags, withSource } from './source.ts';
import { CHANGES } from './what-if/changes.ts';

const run = promisify(execFile);

/** Maximum time and output of one command. */
const MOST_MS = 120_000;
const MOST_BYTES = 16 * 2 ** 20;
const MOST_SNAPSHOT = 512 * 2 ** 20;
/** Maximum number of characters of a parameter. */
const MOST_TEXT = 1_000_000;
const CHANGE = '^((scale|drain|limit|require) .+|[a-z0-9*][a-z0-9.*-]*[+-][0-9.]+%)$';
/** Maximum number of calls that wait, because commands run one after the other. */
const MOST_WAITING = 20;

interface Flags extends SourceFlags {
  readonly instanceTypes?: string;
  readonly now?: number;
}

/** Options of the command line by which a verb selects its source. */
type Source = 'filename' | 'server' | 'context' | 'operatorNamespace' | 'instanceTypes' | 'now';
const ALL = ['filename', 'server', 'context', 'operatorNamespace', 'now'] as const;

interface Parameter {
  readonly description: string;
  /** Arguments for a value. */
  readonly words: (value: string) => readonly string[];
  readonly isRequired?: true;
  /** Default: any text without a leading hyphen, which would be read as an option of the command. */
  readonly pattern?: string;
}

interface Tool {
  readonly description: string;
  readonly verb: readonly string[];
  readonly sources: readonly Source[];
  readonly parameters: Readonly<Record<string, Parameter>>;
}

const argument = (description: string, isRequired?: true): Parameter => ({
  description,
  words: (value) => [value],
  ...(isRequired && { isRequired }),
});
const option = (flag: string, description: string): Parameter => ({ description, words: (value) => [flag, value] });

/** Tools with the names of their commands. Their results are those of `-o json`. */
export const TOOLS: Readonly<Record<string, Tool>> = {
  explain_pod: {
    description: 'Why a pod stays pending, or on which node it will run; without a pod, all pending pods',
    verb: ['explain', 'pod'],
    sources: [...ALL, 'instanceTypes'],
    parameters: {
      pod: argument('NAMESPACE/NAME'),
      namespace: option('--namespace', 'only pods of this namespace'),
    },
  },
  explain_node: {
    description: 'Why a node, or each node, is disrupted or not',
    verb: ['explain', 'node'],
    sources: [...ALL, 'instanceTypes'],
    parameters: { node: argument('name of the Node or of its NodeClaim') },
  },
  explain_nodeclaim: {
    description: 'Why an instance was launched, why not a cheaper one, and why its node does not join',
    verb: ['explain', 'nodeclaim'],
    sources: [...ALL, 'instanceTypes'],
    parameters: { nodeclaim: argument('name of the NodeClaim or of its Node', true) },
  },
  explain_drain: {
    description: 'Obstacles to the drain of a node, places of its pods, new nodes and cost',
    verb: ['explain', 'drain'],
    sources: [...ALL, 'instanceTypes'],
    parameters: { node: argument('name of the Node or of its NodeClaim', true) },
  },
  blockers: {
    description:
      'Reasons that prevent nodes from being drained or disrupted now, with their start and the cost of the wait',
    verb: ['explain', 'blockers'],
    sources: [...ALL, 'instanceTypes'],
    parameters: {},
  },
  budgets: {
    description: 'How many nodes the disruption budgets of NodePools allow to be disrupted, by time and reason',
    verb: ['explain', 'budgets'],
    sources: ALL,
    parameters: { nodepool: argument('name of the NodePool'), next: option('--next', 'period, for example 7d or 36h') },
  },
  cost: {
    description: 'Current cost of nodes with idle cost, in USD per hour',
    verb: ['cost'],
    sources: ['filename', 'server', 'context', 'operatorNamespace', 'now', 'instanceTypes'],
    parameters: { by: option('--by', 'nodepool, zone, namespace or workload') },
  },
  log: {
    description: 'Decisions of the operator with reasons, and nodes and price before and after each',
    verb: ['log'],
    sources: ['server', 'context', 'operatorNamespace', 'now'],
    parameters: {
      since: option('--since', 'period, for example 1h or 7d'),
      nodepool: option('--nodepool', 'only decisions about this NodePool'),
      namespace: option('--namespace', 'only decisions that concern pods of this namespace'),
      node: option('--node', 'only decisions about this Node or NodeClaim'),
    },
  },
  simulate: {
    description: 'Nodes that would be launched for the pods in manifests and for pending pods, with prices and reasons',
    verb: ['simulate', '--explain'],
    sources: ['filename', 'instanceTypes', 'now'],
    parameters: {
      manifests: {
        description: 'YAML of workloads or other objects to add',
        words: (path) => ['-f', path],
        pattern: '',
      },
      // a name of a file would let the assistant read any file of the user
      what_if: { ...option('--what-if', `change: ${CHANGES}`), pattern: CHANGE },
    },
  },
};

type Values = Readonly<Record<string, string>>;

const schemaOf = ({ parameters }: Tool): Readonly<Record<string, unknown>> => ({
  type: 'object',
  properties: Object.fromEntries(
    Object.entries(parameters).map(([name, { description, pattern = '^[^-]' }]) => [
      name,
      { type: 'string', description, minLength: 1, maxLength: MOST_TEXT, pattern },
    ]),
  ),
  required: Object.entries(parameters).flatMap(([name, { isRequired }]) => (isRequired ? [name] : [])),
  additionalProperties: false,
});

const FLAGS: Readonly<Record<Exclude<Source, 'filename' | 'now'>, string>> = {
  server: '--server',
  context: '--context',
  operatorNamespace: '--operator-namespace',
  instanceTypes: '--instance-types',
};

function sourceWords(sources: readonly Source[], flags: Flags): readonly string[] {
  return sources.flatMap((source) => {
    if (source === 'filename') return flags.filename.flatMap((file) => ['-f', resolve(file)]);
    if (source === 'now') return flags.now === undefined ? [] : ['--now', new Date(flags.now).toISOString()];
    const value = flags[source];
    // manifests need neither an operator nor a cluster
    const isUsed = value !== undefined && (flags.filename.length === 0 || source === 'instanceTypes');
    return isUsed ? [FLAGS[source], value] : [];
  });
}

interface Answer {
  readonly text: string;
  readonly notes: string;
  readonly isError: boolean;
}

/** Runs a command of this program in a process, so that it can neither write to the connection nor end the server. */
function runCommand(words: readonly string[], { flags, program }: Served, maxBuffer: number = MOST_BYTES) {
  const { kubeconfig } = flags;
  // not as an option, because `cost --kubeconfig` does not query the operator
  const env = { ...process.env, NO_COLOR: '1', ...(kubeconfig !== undefined && { KUBECONFIG: kubeconfig }) };
  return run(process.execPath, [program, ...words, '-o', 'json'], { timeout: MOST_MS, maxBuffer, env });
}

async function answerOf(words: readonly string[], served: Served): Promise<Answer> {
  try {
    const { stdout, stderr } = await runCommand(words, served);
    return { text: stdout, notes: stderr, isError: false };
  } catch (error) {
    const { code, stdout = '', stderr = '' } = error as { code?: unknown; stdout?: string; stderr?: string };
    // a drain that cannot finish is an answer
    const isAnswer = code === CHANGES_EXIT_CODE && stdout !== '';
    return isAnswer
      ? { text: stdout, notes: stderr, isError: false }
      : { text: stderr.trim() || messageOf(error), notes: '', isError: true };
  }
}

/** Runs calls one after the other, so that an assistant cannot use more than one CPU. */
export class Calls {
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** @throws Error if too many calls wait */
  run<T>(call: () => Promise<T>): Promise<T> {
    if (this.#waiting >= MOST_WAITING)
      throw new Error(`${MOST_WAITING} calls wait already; repeat the call when one of them has ended`);
    this.#waiting += 1;
    const result = this.#last.then(call).finally(() => {
      this.#waiting -= 1;
    });
    this.#last = result.catch(() => {});
    return result;
  }
}

/** Runs a tool. Writes manifests, and the cluster for a simulation, to files of this call. */
async function callTool(name: string, values: Values, served: Served): Promise<Answer> {
  const { flags } = served;
  const tool = TOOLS[name];
  if (tool === undefined) throw new Error(`there is no tool "${name}"`);
  const folder = await mkdtemp(join(tmpdir(), 'karpenter-mcp-'));
  try {
    const given: Record<string, string> = { ...values };
    if (given.manifests !== undefined) {
      const path = join(folder, 'manifests.yaml');
      await writeFile(path, given.manifests);
      given.manifests = path;
    }
    const words = Object.entries(given).flatMap(([key, value]) => tool.parameters[key]?.words(value) ?? []);
    const source = [...sourceWords(tool.sources, flags)];
    if (name === 'simulate' && flags.filename.length === 0) {
      // the operator of the address can belong to another cluster than the kubeconfig
      if (flags.server !== undefined)
        throw new Error('simulate reads a cluster or files; start karpenter mcp with -f or without --server');
      const path = join(folder, 'cluster.json');
      const { stdout } = await runCommand(['snapshot', ...sourceWords(['context'], flags)], served, MOST_SNAPSHOT);
      await writeFile(path, stdout);
      source.push('-f', path);
    }
    return await answerOf([...tool.verb, ...words, ...source], served);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Served {
  readonly flags: Flags;
  /** Path of this program. */
  readonly program: string;
}

async function serve(version: string, served: Served): Promise<void> {
  const [{ fromJsonSchema, McpServer }, { serveStdio }] = await Promise.all([
    import('@modelcontextprotocol/server'),
    import('@modelcontextprotocol/server/stdio'),
  ]);
  const calls = new Calls();
  serveStdio(() => {
    const server = new McpServer({ name: 'karpenter', version });
    for (const [name, tool] of Object.entries(TOOLS)) {
      const inputSchema = fromJsonSchema<Values>(schemaOf(tool));
      const annotations = { readOnlyHint: true, openWorldHint: false };
      server.registerTool(name, { description: tool.description, inputSchema, annotations }, async (values) => {
        const { text, notes, isError } = await calls.run(() => callTool(name, values, served));
        const texts = notes === '' ? [text] : [text, notes];
        return { content: texts.map((each) => ({ type: 'text' as const, text: each })), isError };
      });
    }
    return server;
  });
}

const HELP = `
Tools: ${Object.keys(TOOLS).join(', ')}. Results are those of the commands with -o json. No tool changes the cluster or AWS, and
secrets are not part of any result. Calls run one after the other, each for at most two minutes.`;

/** @param version version of the product */
export function mcpCommand(version: string): Command {
  const command = new Command('mcp').description(
    'Serve explanations, costs, decisions and simulations to an assistant (Model Context Protocol over standard input and output)',
  );
  return withExamples(withSource(command), [
    { what: 'the cluster of the kubeconfig, in the configuration of an assistant', command: 'karpenter mcp' },
    { what: 'a file', command: 'karpenter mcp -f now.yaml' },
  ])
    .addOption(instanceTypesOption())
    .addOption(nowOption())
    .addHelpText('after', HELP)
    .action(async (flags: Flags) => {
      refuseTwoSources(command, flags);
      await serve(version, { flags, program: process.argv[1] ?? '' });
    });
}
