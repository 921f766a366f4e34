/**
 * Unexpected responses of AWS. The operator must report the failed call, and recover when the responses are correct
 * again.
 */
import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { EC2_NODE_CLASS, NODE_POOL, POD } from '#api/objects';
import { healthyNodeClass, healthyPool, smallPod } from './healthy.ts';
import { type HostileWorld, startHostileWorld } from './hostile-world.ts';
import { expectBounded } from './memory.ts';
import { removeOne } from './objects-away.ts';
import { type ProxiedRequest, type RewritingProxy, type Spoiled, startRewritingProxy } from './rewriting-proxy.ts';

/** Time on the world's clock, including all retries of a call. */
const FAILED_MS = 180_000;
/** Pattern of the operator's reports about failed calls. */
const NAMED = /describing (images|instance|launch templates|subnets|security groups)|"aws-operation-name":"\w+"/;

let proxy: RewritingProxy;
let hostile: HostileWorld;
beforeAll(async () => {
  hostile = await startHostileWorld({
    via: async ({ aws }) => {
      proxy = await startRewritingProxy(aws.url);
      return { env: { AWS_ENDPOINT_URL: proxy.url } };
    },
  });
});
afterAll(async () => {
  await hostile?.stop();
  await proxy?.close();
});

/** Returns the name of a call with a JSON body. */
const actionOf = ({ headers }: ProxiedRequest): string => String(headers['x-amz-target']).split('.').at(-1) ?? '';

const isJson = ({ headers }: ProxiedRequest): boolean => headers['x-amz-target'] !== undefined;

const instead = (status: number, body: string): Spoiled => ({ kind: 'instead', status, body });
const errorOf = (request: ProxiedRequest, status: number, code: string): Spoiled =>
  isJson(request)
    ? instead(status, JSON.stringify({ __type: code, message: 'no' }))
    : instead(status, `<Response><Errors><Error><Code>${code}</Code><Message>no</Message></Error></Errors></Response>`);

const DISTURBANCES: Readonly<Record<string, (request: ProxiedRequest) => Spoiled>> = {
  'empty bodies': () => instead(200, ''),
  'XML for JSON, and JSON for XML': (request) => instead(200, isJson(request) ? '<a><b/></a>' : '{"a": 1}'),
  'answers that are cut off in the middle': () => ({ kind: 'cut', share: 0.5 }),
  'status 500': (request) => errorOf(request, 500, 'InternalError'),
  throttles: (request) => errorOf(request, 400, isJson(request) ? 'ThrottlingException' : 'RequestLimitExceeded'),
  'nothing in it': (request) => instead(200, isJson(request) ? '{}' : '<Response/>'),
  'answers after two seconds': () => ({ kind: 'late', ms: 2_000 }),
};
/** Disturbances whose calls continue afterwards: they wait for up to 16 s after a throttle. */
const LASTING = new Set(['status 500', 'throttles', 'answers after two seconds']);
/** Disturbances that cause no failure. */
const HARMLESS = new Set(['answers after two seconds']);

async function disturb(name: string, spoil: (request: ProxiedRequest) => Spoiled, number: number): Promise<void> {
  const own = `spoilt-${number}`;
  const { kube } = hostile;
  const { spec, ...rest } = healthyNodeClass();
  hostile.mark();
  proxy.spoil((request) => (actionOf(request) === 'GetQueueUrl' ? undefined : spoil(request)));
  const nodeClass = { ...rest, metadata: { name: own }, spec: { ...spec, tags: { spoilt: own } } };
  await kube.create(EC2_NODE_CLASS, nodeClass);
  const { spec: poolSpec, ...pool } = healthyPool();
  const { nodeClassRef, ...template } = poolSpec.template.spec;
  const ownTemplate = { spec: { ...template, nodeClassRef: { ...nodeClassRef, name: own } } };
  const ownPool = { ...pool, metadata: { name: own }, spec: { ...poolSpec, template: ownTemplate } };
  await kube.create(NODE_POOL, ownPool);
  const pods = [own, 'healthy'].map((name) =>
    smallPod(`${own}-${name}`, { 'karpenter.sh/nodepool': name, 'example.com/node': own }),
  );
  for (const pod of pods) await kube.create(POD, pod);
  try {
    if (HARMLESS.has(name)) await hostile.until('late answers', () => proxy.spoiled > 5, FAILED_MS);
    else
      await hostile.until(
        'word of a call that failed',
        () => hostile.since().some((line) => line.level === 'ERROR' && NAMED.test(JSON.stringify(line))),
        FAILED_MS,
      );
  } finally {
    proxy.mend();
  }
  if (LASTING.has(name))
    await hostile.until(
      'node for the pod of the healthy pool',
      async () => (await kube.find(POD, { name: `${own}-healthy`, namespace: 'default' }))?.spec.nodeName !== undefined,
      FAILED_MS,
    );
  await hostile.expectHealthy();
  for (const pod of pods) await removeOne(kube, POD, pod);
  await removeOne(kube, NODE_POOL, ownPool);
  await removeOne(kube, EC2_NODE_CLASS, nodeClass);
}

describe('the operator', () => {
  it.each(
    Object.entries(DISTURBANCES).map(([name, spoil], i) => ({ name, spoil, i })),
  )('survives if AWS responds with $name', ({ name, spoil, i }) => disturb(name, spoil, i));

  it('survives all of these responses of AWS within its memory limits', () => expectBounded(hostile));
});
