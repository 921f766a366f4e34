/**
 * HTTP API that controls the local AWS, in addition to the AWS APIs. It can be used with curl:
 *
 * ```sh
 * curl $AWS_ENDPOINT_URL/_local/state                        # instances, queue, calls, money, faults
 * curl $AWS_ENDPOINT_URL/_local/calls?action=CreateFleet     # recorded requests
 * curl $AWS_ENDPOINT_URL/_local/faults                       # active faults
 * curl -X POST $AWS_ENDPOINT_URL/_local/faults -d '{"kind":"capacity","instanceType":"m5.*","zone":"us-west-2a"}'
 * curl -X POST $AWS_ENDPOINT_URL/_local/faults -d '{"kind":"throttle","action":"CreateFleet","times":5}'
 * curl -X POST $AWS_ENDPOINT_URL/_local/faults -d '{"kind":"error","action":"RunInstances","code":"UnauthorizedOperation"}'
 * curl -X POST $AWS_ENDPOINT_URL/_local/faults -d '{"kind":"malformed","action":"Describe*","rate":0.2}'
 * curl -X POST $AWS_ENDPOINT_URL/_local/faults -d '{"kind":"slow-boot","ms":60000,"times":1}'
 * curl -X DELETE $AWS_ENDPOINT_URL/_local/faults             # or /_local/faults/fault-3
 * curl -X POST $AWS_ENDPOINT_URL/_local/instances/i-0123/interrupt
 * ```
 *
 * The verbs on an instance are `interrupt`, `rebalance`, `schedule-change`, `stop`, `terminate`, `impair`,
 * `impair-system` and `recover`. The kinds of faults and their fields are declared in `fault-rules.ts`.
 */
import { own } from '#lib';
import type { FaultRule } from './fault-rules.ts';
import type { LocalAws } from './options.ts';
import type { Faults } from './types.ts';
import type { HttpAnswer, HttpRequest } from './wire/service.ts';

export const ADMIN_PREFIX = '/_local/';

const VERBS: Readonly<Record<string, (faults: Faults, id: string) => void>> = {
  interrupt: (faults, id) => faults.interrupt(id),
  rebalance: (faults, id) => faults.recommendRebalance(id),
  'schedule-change': (faults, id) => faults.scheduleChange(id),
  stop: (faults, id) => faults.stop(id),
  terminate: (faults, id) => faults.terminate(id),
  impair: (faults, id) => faults.impair(id, 'instance'),
  'impair-system': (faults, id) => faults.impair(id, 'system'),
  recover: (faults, id) => faults.recover(id),
};

/** Handles a request under `/_local/`. For invalid requests, returns status 400 or 404 with an explanation. */
export function administer(aws: LocalAws, request: HttpRequest): HttpAnswer {
  if (!isLocalHost(request.headers.host)) return reply(403, { error: 'Use the address 127.0.0.1 for this server' });
  const url = new URL(request.path, 'http://127.0.0.1');
  const [subject = '', id, verb] = url.pathname.slice(ADMIN_PREFIX.length).split('/');
  const route = `${request.method} ${subject}`;
  try {
    if (route === 'GET state') return reply(200, stateOf(aws));
    if (route === 'GET calls') return reply(200, aws.calls.recorded(url.searchParams.get('action') ?? undefined));
    if (route === 'GET faults') return reply(200, aws.faults.list());
    if (route === 'POST faults') return reply(201, { id: aws.faults.add(parseRule(request.body)) });
    if (route === 'DELETE faults') {
      aws.faults.clear(id);
      return reply(200, aws.faults.list());
    }
    if (route === 'POST instances' && id) return act(aws, id, verb ?? '');
  } catch (error) {
    if (error instanceof RangeError) return reply(400, { error: error.message });
    throw error;
  }
  return reply(404, {
    error: `${request.method} ${url.pathname} does not exist; use GET /_local/{state,calls,faults}, POST or DELETE /_local/faults, POST /_local/instances/ID/VERB`,
  });
}

function act(aws: LocalAws, id: string, verb: string): HttpAnswer {
  const run = own(VERBS, verb);
  if (!run) throw new RangeError(`Unknown verb "${verb}"; use one of ${Object.keys(VERBS).join(', ')}`);
  run(aws.faults, id);
  return reply(200, { id, state: aws.instances.get(id)?.state });
}

function parseRule(body: string): FaultRule {
  let rule: unknown;
  try {
    rule = JSON.parse(body);
  } catch {
    throw new RangeError('Cannot read the fault: the body is not JSON');
  }
  if (typeof rule !== 'object' || rule === null)
    throw new RangeError('Cannot read the fault: the body is not an object');
  return rule as FaultRule;
}

function stateOf(aws: LocalAws): object {
  return {
    region: aws.region,
    accountId: aws.accountId,
    clusterName: aws.clusterName,
    instances: aws.instances.list().map((instance) => ({
      id: instance.id,
      type: instance.type,
      zone: instance.zone,
      capacityType: instance.capacityType,
      state: instance.state,
      privateDnsName: instance.privateDnsName,
      launchedAt: new Date(instance.launchedAt).toISOString(),
      usdPerHour: instance.usdPerHour,
      joins: instance.joins,
      tags: instance.tags,
    })),
    queue: { name: aws.queue.name, messages: aws.queue.size() },
    spending: { usd: aws.spending.usd(), usdPerHour: aws.spending.usdPerHour() },
    faults: aws.faults.list(),
    calls: aws.calls.counts(),
  };
}

const reply = (status: number, body: unknown): HttpAnswer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: `${JSON.stringify(body, undefined, 2)}\n`,
});

/**
 * Returns true for a local host header. A page in a browser may reach 127.0.0.1 under another name and must not add
 * faults.
 */
const isLocalHost = (host: string | string[] | undefined): boolean =>
  typeof host === 'string' && /^(127\.0\.0\.1|localhost)(:\d+)?$/.test(host);
