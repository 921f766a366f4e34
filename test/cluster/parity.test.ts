/**
 * Sends the same requests to a real API server and to the local one. Any difference is an error of the local server.
 * Status codes and bodies must be equal except for IDs, times and versions.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { customResourceDefinitions } from '#api/schema';
import { steadyClock } from '#lib/clock';
import { type LocalApiServer, startApiServer } from '#local/testing';
import { type ControlPlane, startControlPlane } from './harness/controlplane.ts';
import { type Answer, type Server, serverAt } from './harness/http.ts';
import { eventually } from './harness/processes.ts';
import { DEVICES } from './parity/devices.ts';
import { MANAGERS } from './parity/managers.ts';
import { comparable, normal } from './parity/normal.ts';
import { SCRIPT } from './parity/requests.ts';
import { TRIALS } from './parity/trials.ts';
import { WATCHES, watchEvents } from './parity/watches.ts';

/** Returns the resources of a group version by name, with the fields that clients use. */
async function resourcesAt(server: Server, path: string): Promise<ReadonlyMap<string, unknown>> {
  const { body } = await server.send({ method: 'GET', path });
  const { resources } = body as { resources: readonly (Record<string, unknown> & { readonly name: string })[] };
  return new Map(
    resources.map(({ name, kind, namespaced, singularName, shortNames = [], categories = [], verbs }) => [
      name,
      { kind, namespaced, singularName, shortNames, categories, verbs: [...(verbs as string[])].sort() },
    ]),
  );
}

const STEPS = [...SCRIPT, ...MANAGERS, ...TRIALS, ...DEVICES];

interface Managed {
  readonly manager: string;
  readonly operation: string;
  readonly subresource?: string;
}

/** Returns the managed fields of an object in a response. Their order depends on the time of each write. */
function managers(answer: Answer | undefined): unknown {
  const { metadata } = (answer?.body ?? {}) as { readonly metadata?: { readonly managedFields?: readonly Managed[] } };
  const key = ({ manager, operation, subresource = '' }: Managed): string => `${operation} ${manager} ${subresource}`;
  return [...(metadata?.managedFields ?? [])].sort((a, b) => (key(a) < key(b) ? -1 : 1)).map((one) => normal(one));
}

describe('the local API server compared with a real one', () => {
  let plane: ControlPlane;
  let local: LocalApiServer;
  let servers: { readonly real: Server; readonly ours: Server };
  const answers = { real: new Map<string, Answer>(), ours: new Map<string, Answer>() };

  beforeAll(async () => {
    plane = await startControlPlane({ controllers: false });
    local = await startApiServer({ clock: steadyClock() });
    servers = { real: serverAt(plane.url, plane.credentials), ours: serverAt(local.url) };
    for (const crd of customResourceDefinitions()) {
      local.install(crd);
      const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
      await servers.real.send({ method: 'POST', path, body: crd });
    }
    await eventually(
      'the CRDs to be served',
      async () => {
        const answer = await servers.real.send({ method: 'GET', path: '/apis/karpenter.sh/v1/nodepools' });
        return answer.code === 200 || undefined;
      },
      30_000,
    );
    for (const which of ['real', 'ours'] as const)
      for (const { name, ask } of STEPS) answers[which].set(name, await servers[which].send(ask(answers[which])));
  }, 180_000);
  afterAll(async () => {
    servers?.real.close();
    servers?.ours.close();
    await local?.close();
    await plane?.stop();
  }, 60_000);

  it('names every step once', () => {
    expect(new Set(STEPS.map(({ name }) => name)).size).toBe(STEPS.length);
  });

  it.each(STEPS.map(({ name, wording }) => [name, wording] as const))('agrees: %s', (name, wording) => {
    const [real, ours] = [answers.real.get(name), answers.ours.get(name)];
    if (!real || !ours) throw new Error('was not asked');
    expect(comparable(ours, wording === undefined)).toEqual(comparable(real, wording === undefined));
  });

  it.each(MANAGERS.map(({ name }) => [name] as const))('agrees on the manager of each field: %s', (name) => {
    expect(managers(answers.ours.get(name))).toEqual(managers(answers.real.get(name)));
  });

  it.each(WATCHES.map((test) => [test.name, test] as const))('agrees on a watch: %s', async (_, test) => {
    const [real, ours] = await Promise.all([watchEvents(servers.real, test), watchEvents(servers.ours, test)]);
    expect(real.length).toBeGreaterThanOrEqual(1);
    expect(normal(ours)).toEqual(normal(real));
  });

  it('serves its resources under the same names with the same verbs', async () => {
    const groups = await servers.ours.send({ method: 'GET', path: '/apis' });
    const { groups: listed } = groups.body as {
      groups: readonly { name: string; versions: readonly { groupVersion: string }[] }[];
    };
    // metrics-server serves this group, and the control plane has none
    const own = listed.filter(({ name }) => name !== 'metrics.k8s.io');
    const paths = ['/api/v1', ...own.flatMap(({ versions }) => versions.map((one) => `/apis/${one.groupVersion}`))];
    const differences: string[] = [];
    for (const path of paths) {
      const [real, ours] = await Promise.all([resourcesAt(servers.real, path), resourcesAt(servers.ours, path)]);
      for (const [name, resource] of ours) {
        if (JSON.stringify(real.get(name)) === JSON.stringify(resource)) continue;
        differences.push(`${path} ${name}: ours ${JSON.stringify(resource)}, real ${JSON.stringify(real.get(name))}`);
      }
    }
    expect(differences).toEqual([]);
  });
});
