/** Commands as a user runs them, with a dump and with an operator. `cli.long.test.ts` starts the program itself. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { parse } from 'yaml';
import type { PoolBudgets } from '#engine/disruption';
import type { NodeBlockers } from '#engine/drain';
import { OUTPUTS } from '../../../scripts/reference/outputs/catalogue.ts';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import type { SimulationAnswer } from '../../../src/cli/render/plan.ts';
import { strictly } from '../scripts/strictly.ts';

const EXAMPLES = join(import.meta.dirname, '../../../examples');
const DUMP = join(import.meta.dirname, 'fixtures/dump.yaml');
const MORE_NODES = join(import.meta.dirname, 'fixtures/nodepool.yaml');
const AT = ['--now', '2026-06-03T10:30:00Z'];

/** Runs a command line in this process, because a process per command would spend most of the time on startup. */
async function run(...args: readonly string[]) {
  const outputs = [process.stdout, process.stderr].map((stream) => jest.spyOn(stream, 'write').mockReturnValue(true));
  try {
    const code = await runCommandLine(args);
    const [output = '', errors = ''] = outputs.map(({ mock }) => mock.calls.map(([text]) => String(text)).join(''));
    return { output, errors: errors.replaceAll(DUMP, 'dump.yaml'), code };
  } finally {
    for (const output of outputs) output.mockRestore();
    process.exitCode = undefined;
  }
}
const over = (...args: readonly string[]) => run(...args, '-f', DUMP, ...(args.includes('--now') ? [] : AT));

const BUDGETS: readonly PoolBudgets[] = [{ nodePool: 'web', budgets: [{ nodes: '10%' }], nodes: 30, disrupting: 1 }];
const BLOCKERS: readonly NodeBlockers[] = [
  { node: 'b', waitsFor: 'nothing', blockers: [{ code: 'do-not-disrupt', text: 'annotated' }] },
  {
    node: 'a',
    waitsFor: 'drain',
    usdPerHour: 1,
    usdSoFar: 2,
    blockers: [{ code: 'instance', text: 'is being terminated' }],
  },
];

let server: Server;
let url: string;
beforeAll(async () => {
  const answers: Readonly<Record<string, unknown>> = { '/debug/budgets': BUDGETS, '/debug/blockers': BLOCKERS };
  server = createServer((request, response) => {
    const answer = answers[request.url ?? ''];
    response.writeHead(answer === undefined ? 404 : 200).end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
});

describe('over a dump', () => {
  it.each([
    ['budgets', ['explain', 'budgets', '--next', '3d']],
    [
      'budgets in local time, over the end of summer time',
      [
        'explain',
        'budgets',
        'default',
        '--next',
        '5d',
        '--now',
        '2026-10-22T10:30:00Z',
        '--time-zone',
        'Europe/Berlin',
      ],
    ],
    ['budgets of more nodes', ['explain', 'budgets', '--next', '1h', '--what-if', MORE_NODES]],
    ['blockers', ['explain', 'blockers']],
    ['all blockers', ['explain', 'blockers', '--all']],
    ['an instance type', ['explain', 'instance-type', 'm5.large']],
    ['a drained node', ['simulate', '--what-if', 'drain node-b']],
    ['a scaled workload', ['simulate', '--what-if', 'scale shop/deployment/web=10']],
    ['what keeps a drained node', ['explain', 'node', 'node-b', '--what-if', 'drain claim-b']],
  ])('prints %s', async (_, args) => {
    const { output, errors, code } = await over(...args);
    expect(code).toBe(0);
    expect(`${output}${errors}`).toMatchSnapshot();
  });

  it.each([
    ['budgets', ['explain', 'budgets']],
    ['blockers', ['explain', 'blockers']],
    ['explain-instance-type', ['explain', 'instance-type', 'm5.large']],
    ['explain-node', ['explain', 'node']],
    ['explain-node', ['explain', 'node', 'node-b']],
    ['explain-pod', ['explain', 'pod', 'batch', '-n', 'shop']],
    ['explain-pod', ['explain', 'pod']],
    ['explain-pod', ['explain', 'pod', 'web-what-if-0', '-n', 'shop', '--what-if', 'scale shop/deploy/web=3']],
    ['simulate', ['simulate', '--what-if', 'scale shop/deploy/web=30', '--explain']],
    ['simulate-disruption', ['simulate', '--disruption', '--explain']],
  ])('prints %s that matches its schema: %j', async (name, args) => {
    const schema = OUTPUTS.find((each) => each.name === name)?.schema;
    const { output } = await over(...args, '-o', 'json');
    expect(strictly(schema, JSON.parse(output))).toEqual([]);
  });

  it('prints the same values as YAML', async () => {
    const json = await over('explain', 'budgets', '-o', 'json');
    const yaml = await over('explain', 'budgets', '-o', 'yaml');
    expect(parse(yaml.output)).toEqual(JSON.parse(json.output));
  });

  it.each([
    { what: 'nothing changes', args: ['simulate', '--exit-code'], is: 0 },
    { what: 'nodes are launched', args: ['simulate', '--exit-code', '--what-if', 'scale shop/deploy/web=30'], is: 2 },
    {
      what: 'nodes are launched, without the flag',
      args: ['simulate', '--what-if', 'scale shop/deploy/web=30'],
      is: 0,
    },
    { what: 'no node would be disrupted', args: ['simulate', '--disruption', '--exit-code'], is: 0 },
    { what: 'a change is not possible', args: ['simulate', '--exit-code', '--what-if', 'drain nobody'], is: 1 },
    { what: 'the arguments are invalid', args: ['simulate', '--exit-code', '--nonsense'], is: 1 },
    { what: 'the arguments are invalid, without the flag', args: ['simulate', '--nonsense'], is: 2 },
    { what: 'a time is invalid', args: ['explain', 'budgets', '--next', 'soon'], is: 2 },
    { what: 'a time zone is unknown', args: ['explain', 'budgets', '--time-zone', 'Mars/North'], is: 2 },
    { what: 'a file does not exist', args: ['explain', 'budgets', '--what-if', 'nodepool.yaml'], is: 1 },
    { what: 'two sources are given', args: ['explain', 'blockers', '--server', '8080'], is: 2 },
    { what: 'the NodePool does not exist', args: ['explain', 'budgets', 'nope'], is: 1 },
    { what: 'the instance type does not exist', args: ['explain', 'instance-type', 'm5.lrge'], is: 1 },
    {
      what: 'the NodePool of an instance type does not exist',
      args: ['explain', 'instance-type', 'm5.large', '--nodepool', 'nope'],
      is: 1,
    },
  ])('exits with $is if $what', async ({ args, is }) => {
    expect((await over(...args)).code).toBe(is);
  });

  it('exits with 2 if a node would be disrupted', async () => {
    const cheap = [
      'simulate',
      '--disruption',
      '--exit-code',
      '--what-if',
      'scale shop/rs/web-7d9f=0',
      '--now',
      '2026-06-05T18:00:00Z',
    ];
    const { code, output } = await run(...cheap, '-f', DUMP);
    expect(output).toMatch(/^drift\n/);
    expect(code).toBe(2);
  });
});

it('scales a workload in manifests without a cluster', async () => {
  const { output } = await run('simulate', '-f', EXAMPLES, '--what-if', 'scale deploy/inflate=20', '-o', 'json');
  const { nodeClaims } = JSON.parse(output) as SimulationAnswer;
  expect(nodeClaims.flatMap(({ pods }) => pods)).toHaveLength(20);
});

describe('with an operator', () => {
  it('requests its budgets, and computes the calendar', async () => {
    const { output } = await run('explain', 'budgets', '--server', url, ...AT);
    expect(output).toMatch(
      /^NodePool web: 30 nodes, 1 not ready or being deleted\nREASONS .*\nall +Wed 2026-06-03 10:30 +3 nodes$/m,
    );
    const { errors, code } = await run('explain', 'budgets', 'nope', '--server', url);
    expect(code).toBe(1);
    expect(errors).toBe(
      `karpenter explain: NodePool "nope" not found by the operator at ${url}; existing names: web\n`,
    );
  });

  it('rejects changes', async () => {
    const { errors, code } = await run('explain', 'budgets', '--server', url, '--what-if', MORE_NODES);
    expect(code).toBe(2);
    expect(errors).toMatch(/--what-if needs -f/);
  });

  it('requests the blockers of its nodes, draining nodes first', async () => {
    const { output } = await run('explain', 'blockers', '--server', url);
    expect(output).toBe(
      'Node a is being drained, $1.0000/h, $2.0000 so far\n' +
        'the drain waits without limit, because the NodeClaim has no terminationGracePeriod\n' +
        'CODE      IN THE WAY\n' +
        'instance  is being terminated\n\n' +
        '1 node waits: $1.0000/h, $2.0000 so far\n\n' +
        '1 other node cannot be disrupted, but is not being drained, drifted or consolidatable; use --all to see the reasons\n',
    );
    const { output: json } = await run('explain', 'blockers', '--server', url, '-o', 'json');
    expect(JSON.parse(json)).toEqual(BLOCKERS.toReversed());
  });
});

describe('a trace', () => {
  const TINY = join(EXAMPLES, 'replay/tiny.jsonl');
  const CSV = join(import.meta.dirname, 'fixtures/tasks.csv');
  const AUDIT = join(import.meta.dirname, 'fixtures/audit.jsonl');
  const COLUMNS = ['--submit', 'submitted', '--runs', 'seconds', '--cpu', 'cores', '--memory', 'bytes'];

  it('is checked, and summarized as text', async () => {
    const { output, errors, code } = await run('trace', 'check', TINY);
    expect({ output, errors, code }).toMatchSnapshot();
  });

  it('is summarized as JSON that matches the schema', async () => {
    const schema = OUTPUTS.find((each) => each.name === 'trace-check')?.schema;
    const { output } = await run('trace', 'check', TINY, '-o', 'json');
    expect(strictly(schema, JSON.parse(output))).toEqual([]);
  });

  it('is generated on standard output', async () => {
    const args = ['trace', 'generate', 'batch', '--seed', '3', '--pods', '5', '--duration', '2h'];
    const first = await run(...args);
    const again = await run(...args);
    expect(first).toMatchObject({ code: 0, errors: '' });
    expect(again.output).toBe(first.output);
    expect(JSON.parse(first.output.split('\n', 1)[0] ?? '')).toMatchObject({ name: 'batch', seconds: 7_200 });
  });

  it.each([
    ['a CSV', ['from-csv', CSV, ...COLUMNS]],
    ['an audit log', ['from-audit', AUDIT]],
  ])('is created from %s', async (_, args) => {
    const { output, errors, code } = await run('trace', ...args);
    expect({ output, errors, code }).toMatchSnapshot();
  });

  it.each([
    [['check', 'nowhere.jsonl'], 1, 'karpenter trace: nowhere.jsonl: no such file\n'],
    [['check', CSV], 1, /line 1: this looks like CSV; convert it with `karpenter trace from-csv`/],
    [['check', AUDIT], 1, /line 1: this is a Kubernetes audit log/],
    [['generate', 'nonsense'], 2, /Allowed choices are web-service, batch/],
    [['generate', 'mix', '--pods', '0'], 2, /It must be an integer from 1 to 50000/],
    [['generate', 'mix', '--duration', 'long'], 2, /Expected a duration of at most 366d, for example 7d or 36h/],
    [['from-csv', CSV], 2, /required option '--submit <column>' not specified/],
    [['from-csv', CSV, ...COLUMNS, '--sample', '2'], 2, /It must be a number from/],
    [['from-audit', AUDIT, '--limit', 'much'], 2, /It must be a size from 64Ki to 4Gi/],
  ])('results with %j in exit code %d', async (args, code, message) => {
    const found = await run('trace', ...args);
    expect(found.code).toBe(code);
    if (typeof message === 'string') expect(found.errors).toBe(message);
    else expect(found.errors).toMatch(message);
  });
});

describe('a misspelled word', () => {
  it.each([
    [['explian', 'pod', 'web-0'], "unknown command 'explian'\n(Did you mean explain?)"],
    [['cots', '--by', 'zone'], "unknown command 'cots'\n(Did you mean cost?)"],
    [['report', 'mvoes'], "unknown command 'mvoes'\n(Did you mean moves?)"],
    [['report', 'costs'], "unknown command 'costs'\n(karpenter report --help"],
    [['help', 'repot'], "unknown command 'repot'\n(Did you mean report?)"],
    [['explain', 'blocker'], "unknown command 'blocker'\n(Did you mean blockers?)"],
    [['blockers'], "unknown command 'blockers'\n(Did you mean karpenter explain blockers?)"],
    [['budgets'], "unknown command 'budgets'\n(Did you mean karpenter explain budgets?)"],
    [['moves', '-o', 'json'], "unknown command 'moves'\n(Did you mean karpenter report moves?)"],
    [['explain', 'pod', '--servr', 'x'], "unknown option '--servr'\n(Did you mean --server?)"],
    [['report', 'moves', '--out', 'json'], "unknown option '--out'\n(Did you mean --output?)"],
  ])('is an error with the nearest word: %j', async (args, message) => {
    const { output, errors, code } = await run(...args);
    expect({ output, code }).toEqual({ output: '', code: 2 });
    expect(errors).toMatch(`error: ${message}`);
  });
});

describe('the price of an eviction', () => {
  const SIMULATE = ['simulate', '--disruption', '-f', DUMP, ...AT];
  const REMEDY = 'must be from 0 to 1000 USD';

  it.each([
    ['-1', SIMULATE],
    ['much', ['explain', 'node', '-f', DUMP, ...AT]],
    ['1001', ['explain', 'blockers', '-f', DUMP, ...AT]],
  ])('is an error, as in the operator: %j', async (price, args) => {
    process.env.EVICTION_PRICE = price;
    try {
      const { output, errors, code } = await run(...args);
      expect({ output, code }).toEqual({ output: '', code: 2 });
      expect(errors).toContain(`value '${price}' from env 'EVICTION_PRICE' is invalid. It ${REMEDY}.`);
    } finally {
      delete process.env.EVICTION_PRICE;
    }
    expect((await run(...args, '--eviction-price', price)).errors).toContain(`It ${REMEDY}.`);
  });

  it('needs --disruption', async () => {
    const { errors } = await run('simulate', '-f', DUMP, '--eviction-price', '1');
    expect(errors).toContain('error: --eviction-price needs --disruption');
  });
});
