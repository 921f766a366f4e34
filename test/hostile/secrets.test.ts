/** Secrets that the operator reads must not occur in logs, metrics, events, debug responses or explanations. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  EC2_NODE_CLASS,
  EVENT,
  getCondition,
  type Kind,
  type KubeObject,
  NODE,
  NODE_CLAIM,
  NODE_POOL,
  POD,
} from '#api/objects';
import { healthyNodeClass, healthyPool, smallPod } from './healthy.ts';
import { type HostileWorld, startHostileWorld } from './hostile-world.ts';
import { kindOf } from './objects-away.ts';
import { type RewritingProxy, startRewritingProxy } from './rewriting-proxy.ts';

const CLI = fileURLToPath(new URL('../../bin/karpenter.js', import.meta.url));

/** Secret values. Each is short enough to appear completely in an excerpt. */
const CANARY = {
  'the secret access key': 'cnry-key',
  'the session token': 'cnry-ses',
  'the token of the kubeconfig': 'cnry-kub',
  'user data': 'cnry-udt',
  'user data that is not TOML': 'cnry-tml',
  'user data that is not MIME': 'cnry-mim',
  'the environment of a container': 'cnry-env',
  'an argument of a container': 'cnry-arg',
  'an annotation': 'cnry-ann',
  'a message that is read': 'cnry-msg',
  'a message that is no JSON': 'cnry-txt',
  'a message that is cut off': 'cnry-cut',
  'the time of a message': 'cnry-tim',
  'a watch event without a name': 'cnry-evt',
  'a watch event that is cut off': 'cnry-wcu',
} as const;

const USER_DATA: Readonly<Record<string, { alias: string; userData: string }>> = {
  secret: { alias: 'al2023@latest', userData: `#!/bin/bash\nexport PASSWORD=${CANARY['user data']}\n` },
  toml: {
    alias: 'bottlerocket@latest',
    userData: `[settings]\npassword = "${CANARY['user data that is not TOML']}\n`,
  },
  mime: {
    alias: 'al2023@latest',
    userData: `MIME-Version: 1.0\n${CANARY['user data that is not MIME']}\n\ntext\n`,
  },
};

const nodeClass = (name: string): KubeObject => {
  const { alias = '', userData = '' } = USER_DATA[name] ?? {};
  const { spec, ...rest } = healthyNodeClass();
  return { ...rest, metadata: { name }, spec: { ...spec, amiSelectorTerms: [{ alias }], userData } } as KubeObject;
};

const pool = (name: string): KubeObject => {
  const { spec, ...rest } = healthyPool();
  const { nodeClassRef, ...template } = spec.template.spec;
  const own = { ...template, nodeClassRef: { ...nodeClassRef, name } };
  return {
    ...rest,
    metadata: { name },
    spec: { ...spec, template: { metadata: { annotations: ANNOTATIONS }, spec: own } },
  } as KubeObject;
};

const ANNOTATIONS = { 'kubectl.kubernetes.io/last-applied-configuration': `{"password":"${CANARY['an annotation']}"}` };

function podWithSecrets(name: string, ofPool: string): KubeObject {
  const { metadata, spec, ...rest } = smallPod(name, {
    'karpenter.sh/nodepool': ofPool,
    'example.com/node': name,
  }) as ReturnType<typeof smallPod> & { spec: { containers: readonly object[] } };
  const [container] = spec.containers;
  const secrets = {
    env: [{ name: 'PASSWORD', value: CANARY['the environment of a container'] }],
    args: [`--password=${CANARY['an argument of a container']}`],
  };
  return {
    ...rest,
    metadata: { ...metadata, annotations: ANNOTATIONS },
    spec: { ...spec, containers: [{ ...container, ...secrets }] },
  } as KubeObject;
}

const MESSAGES = [
  `{"version":"0","source":"aws.ec2","detail-type":"x","detail":{"note":"${CANARY['a message that is read']}"}}`,
  `${CANARY['a message that is no JSON']} is the password`,
  `{"p": ${CANARY['a message that is cut off']}`,
  JSON.stringify({
    version: '0',
    source: 'aws.ec2',
    'detail-type': 'EC2 Spot Instance Interruption Warning',
    time: CANARY['the time of a message'],
  }),
];

const folder = mkdtempSync(join(tmpdir(), 'hostile-secrets-'));
let hostile: HostileWorld;
const proxies: RewritingProxy[] = [];
/** Output by its source. */
const outputs = new Map<string, string>();
/** Changes lines of watches while it is set. */
let spoilt: ((line: string) => string) | undefined;
const unnamed = (line: string): string =>
  line.includes('"reader"')
    ? `{"type":"MODIFIED","object":{"metadata":{"p":"${CANARY['a watch event without a name']}"}}}\n`
    : line;
const cut = (line: string): string =>
  line.includes('"reader"') ? `{"p": ${CANARY['a watch event that is cut off']}\n` : line;

const receipts = new Set<string>();
function noteReceipts(answer: string): string {
  for (const [, receipt = ''] of answer.matchAll(/"ReceiptHandle":"([^"]+)"/g)) receipts.add(receipt);
  return answer;
}
/** AWS calls that contained user data. */
const toldUserData = new Set<string>();

/** Starts proxies that put secrets into responses of AWS and of the API server. */
async function via(world: HostileWorld['world']): Promise<{ env: Record<string, string> }> {
  const kube = await startRewritingProxy(world.kube.url);
  kube.spoil(({ url }) =>
    url.startsWith('/api/v1/pods') && url.includes('watch=')
      ? { kind: 'lines', change: (line) => spoilt?.(line) ?? line }
      : undefined,
  );
  const aws = await startRewritingProxy(world.aws.url);
  aws.spoil(({ headers, body }) => {
    const action = /^Action=(\w+)/.exec(body)?.[1] ?? '';
    const userData = new URLSearchParams(body).get('LaunchTemplateData.UserData') ?? '';
    if (Buffer.from(userData, 'base64').toString().includes(CANARY['user data'])) toldUserData.add(action);
    return headers['x-amz-target'] === 'AmazonSQS.ReceiveMessage'
      ? { kind: 'changed', change: noteReceipts }
      : undefined;
  });
  proxies.push(kube, aws);
  const kubeconfig = join(folder, 'kubeconfig');
  const token = CANARY['the token of the kubeconfig'];
  writeFileSync(
    kubeconfig,
    world.kube.kubeconfig().replaceAll(world.kube.url, kube.url).replace('user: {}', `user: {token: ${token}}`),
  );
  return {
    env: {
      KUBECONFIG: kubeconfig,
      AWS_ENDPOINT_URL: aws.url,
      AWS_SECRET_ACCESS_KEY: CANARY['the secret access key'],
      AWS_SESSION_TOKEN: CANARY['the session token'],
      LOG_LEVEL: 'debug',
      ENABLE_PROFILING: 'true',
    },
  };
}

const isBound = async (name: string): Promise<boolean> =>
  (await hostile.kube.find(POD, { name, namespace: 'default' }))?.spec.nodeName !== undefined;

/** Returns the number of pod watches that ended with an error. */
const endedWatches = (): number =>
  hostile.operator.log.filter(({ message, kind }) => message === 'watch ended, reconnecting' && kind === 'Pod').length;

/** Changes the pod until a watch event about it was corrupted: a watch that just reconnects reads the change from a list. */
async function changeReader(value: string, spoil: (line: string) => string): Promise<void> {
  const before = endedWatches();
  let changes = 0;
  spoilt = spoil;
  await hostile.until('end of the watch', async () => {
    if (endedWatches() > before) return true;
    const labels = { value: `${value}-${changes++}` };
    await hostile.kube.patch(POD, { name: 'reader', namespace: 'default' }, { metadata: { labels } });
    return false;
  });
  spoilt = undefined;
}

async function mainJob(): Promise<void> {
  for (const name of Object.keys(USER_DATA)) {
    await hostile.kube.create(EC2_NODE_CLASS, nodeClass(name) as ReturnType<typeof healthyNodeClass>);
    await hostile.kube.create(NODE_POOL, pool(name) as ReturnType<typeof healthyPool>);
  }
  const create = (pod: KubeObject): Promise<KubeObject> => hostile.kube.create(kindOf(pod), pod);
  await create(podWithSecrets('bought', 'secret'));
  await hostile.until('node of the pod', () => isBound('bought'));
  hostile.world.aws.faults.add({ kind: 'error', action: 'CreateFleet', code: 'UnauthorizedOperation', times: 1 });
  await create(podWithSecrets('late', 'secret'));
  await hostile.until('node after a failed launch', () => isBound('late'));
  for (const name of ['toml', 'mime', 'nowhere']) await create(podWithSecrets(name, name));
  for (const name of ['toml', 'mime'])
    await hostile.until('word of invalid user data', async () => {
      const nodeClass = await hostile.kube.find(EC2_NODE_CLASS, { name });
      return nodeClass !== undefined && getCondition(nodeClass, 'ValidationSucceeded')?.reason === 'InvalidUserData';
    });
  await hostile.until('pod that finds no node', async () =>
    (await hostile.kube.list(EVENT)).items.some(
      ({ involvedObject, reason }) => involvedObject.name === 'nowhere' && reason === 'FailedScheduling',
    ),
  );
  for (const body of MESSAGES) hostile.world.aws.queue.send(body);
  await hostile.until('empty queue', () => hostile.world.aws.queue.size() === 0);
  await create(smallPod('reader', { 'karpenter.sh/nodepool': 'nowhere' }));
  await changeReader('unnamed', unnamed);
  await changeReader('cut', cut);
  await hostile.expectHealthy();
}

async function collect(): Promise<void> {
  const { metricsUrl, healthUrl, log, noise } = hostile.operator;
  const urls = [
    `${metricsUrl}/metrics`,
    ...[
      'verdicts',
      'offerings',
      'instancetypes',
      'moves',
      'budgets',
      'blockers',
      'pprof/',
      'pprof/cmdline',
      'nothing',
    ].map((name) => `${metricsUrl}/debug/${name}`),
    `${healthUrl}/readyz?verbose`,
  ];
  for (const url of urls) outputs.set(new URL(url).pathname, await (await fetch(url)).text());
  outputs.set('the log', JSON.stringify([log, noise]));
  outputs.set('events', JSON.stringify((await hostile.kube.list(EVENT)).items.map(({ message }) => message)));
  const kinds: readonly Kind[] = [NODE_CLAIM, NODE, NODE_POOL, EC2_NODE_CLASS];
  const owned = await Promise.all(kinds.map((kind) => hostile.kube.list(kind)));
  const statuses = owned.flatMap(({ items }) => items as readonly { status?: unknown }[]).map(({ status }) => status);
  outputs.set('statuses', JSON.stringify(statuses));
}

/** Explains the objects of the cluster from files, as a user does. */
async function collectExplanations(): Promise<void> {
  const kinds: readonly Kind[] = [EC2_NODE_CLASS, NODE_POOL, NODE, NODE_CLAIM, POD];
  const items = (await Promise.all(kinds.map((kind) => hostile.kube.list(kind)))).flatMap((list) => list.items);
  const file = join(folder, 'cluster.json');
  writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  const args = [
    ['simulate', '-f', file, '--explain', '-o', 'json'],
    ['explain', 'node', '-f', file, '-o', 'json'],
    ['explain', 'node', '--server', hostile.operator.metricsUrl],
    ['explain', 'pod', 'nowhere', '-f', file, '-o', 'json'],
    ['explain', 'blockers', '--all', '-f', file],
    ['explain', 'budgets', '-f', file],
  ];
  const said = await Promise.all(
    args.map(async (argv) => {
      const child = spawn(process.execPath, [CLI, ...argv]);
      return (await Promise.all([text(child.stdout), text(child.stderr)])).join('');
    }),
  );
  for (const [i, argv] of args.entries()) outputs.set(argv.slice(0, 4).join(' '), said[i] ?? '');
}

beforeAll(async () => {
  hostile = await startHostileWorld({ via });
  await mainJob();
  await collect();
  await collectExplanations();
});
afterAll(async () => {
  await hostile?.stop();
  for (const proxy of proxies) await proxy.close();
  rmSync(folder, { recursive: true, force: true });
});

const leaksOf = (secret: string): readonly string[] =>
  [...outputs].flatMap(([where, said]) => {
    const at = said.indexOf(secret);
    return at < 0 ? [] : [`${where}: …${said.slice(Math.max(0, at - 200), at + 40)}…`];
  });

describe('the output of the operator and of the command line', () => {
  it.each(Object.entries(CANARY))('does not contain %s', (_, canary) => expect(leaksOf(canary)).toEqual([]));

  it('does not contain a receipt handle', () => {
    expect(receipts.size).toBeGreaterThanOrEqual(MESSAGES.length);
    expect([...receipts].flatMap(leaksOf)).toEqual([]);
  });

  it('does not contain empty texts, with which these tests could not fail', () => {
    expect([...outputs].filter(([, said]) => said === '')).toEqual([]);
  });
});

it('sends user data in launch templates only', () => expect([...toldUserData]).toEqual(['CreateLaunchTemplate']));
