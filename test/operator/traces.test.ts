/** Traces of launched and removed nodes, as received by a collector over HTTP. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { isTrue, NODE_POOL } from '#api/objects';
import { type OtlpReceiver, otlpReceiver, type ReceivedSpan } from '../support/otlp-receiver.ts';
import { deployment, type Scenario, startScenario } from './harness.ts';

const TOKEN = 'a-token-that-nobody-may-see';

let scenario: Scenario | undefined;
let collector: OtlpReceiver | undefined;
afterEach(async () => {
  await scenario?.stop();
  await collector?.close();
  scenario = undefined;
  collector = undefined;
});

async function traced(answer: OtlpReceiver['answer'], env: Readonly<Record<string, string>> = {}) {
  const received = await otlpReceiver();
  collector = received;
  received.answer = answer;
  const started = await startScenario({
    operator: false,
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: received.url,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${TOKEN}`,
      OTEL_BSP_SCHEDULE_DELAY: '100',
      ...env,
    },
  });
  scenario = started;
  const operator = await started.startOperator();
  await started.apply(...started.example('ec2nodeclass.yaml'), ...started.example('nodepool.yaml'));
  // if the NodePool becomes ready while pods are pending, a pass starts immediately, without a batch window
  await started.until('a NodePool that is ready', async () => {
    const { items } = await started.kube.list(NODE_POOL);
    return items.length === 1 && items.every((pool) => isTrue(pool, 'Ready'));
  });
  return { started, received, operator };
}

const running = (started: Scenario, app: string, count: number): Promise<unknown> =>
  started.until(`${count} running pods`, async () => (await started.running(app)).length === count);

/** Returns the root span of each trace, with access to its child spans by name. */
function traces(spans: readonly ReceivedSpan[], name: string) {
  return spans
    .filter((span) => span.name === name && span.parentId === '')
    .map((root) => ({
      root,
      below: (child: string, parent: ReceivedSpan = root) =>
        spans.filter((span) => span.name === child && span.parentId === parent.spanId && span.traceId === root.traceId),
    }));
}

function the<T>(items: readonly T[]): T {
  const [item, ...others] = items;
  if (item === undefined || others.length > 0) throw new Error(`${items.length} in place of one`);
  return item;
}

describe('a trace', () => {
  it('shows the steps from pending pods to a node, and the removal of nodes', async () => {
    const { started, received, operator } = await traced(200, {
      OTEL_SERVICE_NAME: 'nodes',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    });
    await started.apply(deployment('web', 3));
    await running(started, 'web', 3);
    const claim = the(await started.claims());
    const pods = await started.running('web');
    await started.until('a whole trace', () => received.spans.some(({ name }) => name === 'provision node'));

    const { root, below } = the(traces(received.spans, 'provision node'));
    expect(root.failure).toBeUndefined();
    expect(root.resource).toMatchObject({
      'service.name': 'nodes',
      'deployment.environment.name': 'test',
      'k8s.cluster.name': 'test',
      'cloud.provider': 'aws',
    });
    const labels = claim.metadata.labels ?? {};
    const bought = {
      'karpenter.nodepool.name': 'default',
      'karpenter.nodeclaim.name': claim.metadata.name,
      'host.type': labels['node.kubernetes.io/instance-type'],
      'cloud.availability_zone': labels['topology.kubernetes.io/zone'],
      'karpenter.capacity_type': labels['karpenter.sh/capacity-type'],
      'host.id': claim.status?.providerID?.split('/').at(-1),
    };
    expect(root.attributes).toMatchObject({
      ...bought,
      'k8s.node.name': claim.status?.nodeName,
      'karpenter.reason': 'provisioned',
      'karpenter.outcome': 'ready',
      'karpenter.pods': 3,
      'karpenter.pods.without_span': 0,
    });

    const window = the(below('batch window'));
    const solve = the(below('solve'));
    const creation = the(below('create NodeClaim'));
    const launch = the(below('launch'));
    const registration = the(below('registration'));
    const initialization = the(below('initialization'));
    const steps = [window, solve, creation, launch, registration, initialization];
    for (const [at, step] of steps.entries()) {
      expect(step.endMs).toBeGreaterThanOrEqual(step.startMs);
      expect(step.startMs).toBeGreaterThanOrEqual(steps[at - 1]?.endMs ?? root.startMs);
      expect(step.endMs).toBeLessThanOrEqual(root.endMs);
    }
    // the batch window requires silence, and instances take time to start
    expect(window.endMs - window.startMs).toBeGreaterThanOrEqual(1_000);
    expect(registration.endMs - registration.startMs).toBeGreaterThan(100);
    expect(launch.attributes).toMatchObject(bought);
    const call = the(below('EC2.CreateFleet', launch));
    expect(call).toMatchObject({ isRequest: true, failure: undefined });
    expect(call.attributes).toMatchObject({ 'rpc.system': 'aws-api', 'rpc.method': 'CreateFleet' });
    expect(call.attributes['karpenter.fleet.overrides']).toBeGreaterThan(1);
    expect(call.startMs).toBeGreaterThanOrEqual(launch.startMs);

    const spans = below('pod');
    expect(new Set(spans.map(({ attributes }) => attributes['k8s.pod.uid']))).toEqual(
      new Set(pods.map(({ metadata }) => metadata.uid)),
    );
    for (const { attributes, startMs, endMs } of spans) {
      expect(attributes).toMatchObject({ 'karpenter.outcome': 'bound', 'k8s.node.name': claim.status?.nodeName });
      expect(startMs).toBeLessThanOrEqual(window.endMs);
      expect(endMs).toBeGreaterThan(registration.startMs);
    }

    await started.scale('web', 0);
    await started.until('no claims', async () => (await started.claims()).length === 0);
    // the operator may see the deletion later than the API server shows it
    await started.until('the trace of the command', () => received.spans.some(({ name }) => name === 'disrupt nodes'));
    await operator.stop();
    const command = the(traces(received.spans, 'disrupt nodes'));
    expect(command.root.attributes).toMatchObject({
      'karpenter.reason': 'Empty',
      'karpenter.decision': 'delete',
      'karpenter.candidates': 1,
      'karpenter.outcome': 'carried out',
    });
    const termination = the(command.below('terminate node'));
    expect(termination.attributes).toMatchObject({ ...bought, 'karpenter.outcome': 'terminated' });
    for (const step of ['drain', 'detach volumes', 'terminate instance'])
      expect(the(command.below(step, termination)).endMs).toBeLessThanOrEqual(termination.endMs);

    expect(new Set(received.requests.map(({ path }) => path))).toEqual(new Set(['/v1/traces']));
    for (const { headers } of received.requests)
      expect(headers).toMatchObject({ authorization: `Bearer ${TOKEN}`, 'content-encoding': 'gzip' });
  });

  it('belongs to the disruption command if it is that of a replacement', async () => {
    const { started, received } = await traced(200);
    await started.apply(deployment('web', 1));
    await running(started, 'web', 1);
    const first = the(await started.claims());
    // changes the hash of the NodePool, so the node drifts and is replaced
    const nodePool = the(started.example('nodepool.yaml')) as unknown as Record<string, never>;
    await started.apply(withLabel(nodePool, { team: 'blue' }));
    await started.until('a replacement', async () => {
      const [claim, ...others] = await started.claims();
      return others.length === 0 && claim !== undefined && claim.metadata.name !== first.metadata.name;
    });
    await started.until('the whole trace', () => received.spans.some(({ name }) => name === 'disrupt nodes'));
    const { root, below } = the(traces(received.spans, 'disrupt nodes'));
    expect(root.attributes).toMatchObject({ 'karpenter.reason': 'Drifted', 'karpenter.decision': 'replace' });
    const replacement = the(below('provision node'));
    expect(replacement.attributes).toMatchObject({ 'karpenter.reason': 'drifted', 'karpenter.outcome': 'ready' });
    const termination = the(below('terminate node'));
    expect(the(below('replacements')).endMs).toBeLessThanOrEqual(termination.startMs);
  });
});

function withLabel(pool: Record<string, never>, labels: Readonly<Record<string, string>>) {
  const copy = structuredClone(pool) as unknown as { spec: { template: { metadata?: { labels?: object } } } };
  copy.spec.template.metadata = { ...copy.spec.template.metadata, labels };
  return copy as never;
}

describe('a collector', () => {
  it.each([
    { which: 'fails', answer: 500, error: /500/ },
    { which: 'does not answer', answer: 'nothing', error: /timed out/i },
  ] as const)('delays no work if it $which, and is reported in the log with a remedy once', async ({
    answer,
    error,
  }) => {
    const { started, received, operator } = await traced(answer, { OTEL_EXPORTER_OTLP_TIMEOUT: '500' });
    await started.apply(deployment('web', 2));
    await running(started, 'web', 2);
    const failures = () => started.log.filter(({ message }) => message === 'failed exporting traces');
    await started.until('an error in the log', () => failures().length > 0);
    await started.until('more exports', () => received.requests.length > 1);
    const line = the(failures());
    expect(line).toMatchObject({ level: 'ERROR', endpoint: `${received.url}/v1/traces` });
    expect(line.error).toMatch(error);
    expect(line.remedy).toContain('OTEL_EXPORTER_OTLP_ENDPOINT');
    expect(await started.metrics()).toMatch(/karpenter_traces_spans_total\{result="failed"\} [1-9]/);
    await operator.stop();
    expect(JSON.stringify(started.log)).not.toContain(TOKEN);
  });

  it('delays no work if it is not reachable', async () => {
    const received = await otlpReceiver();
    await received.close();
    const { started } = await traced(200, {
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${received.url}/v1/traces`,
      OTEL_EXPORTER_OTLP_TIMEOUT: '500',
    });
    await started.apply(deployment('web', 2));
    await running(started, 'web', 2);
    const line = await started.until('an error in the log', () =>
      started.log.find(({ message }) => message === 'failed exporting traces'),
    );
    expect(line.error).toContain('ECONNREFUSED');
  });
});

it('creates no traces by default', async () => {
  scenario = await startScenario();
  expect(await scenario.metrics()).not.toContain('karpenter_traces');
});

it('disables traces with a reason in the log if they cannot be exported', async () => {
  const { started, received } = await traced(200, { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' });
  const line = started.log.find(({ message }) => message === 'ignoring a setting');
  expect(line?.error).toContain('OTEL_EXPORTER_OTLP_PROTOCOL "grpc"');
  expect(received.requests).toEqual([]);
});
