/** What ValidatingAdmissionPolicies do to the same requests on a real API server and on the local one. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { steadyClock } from '../../src/lib/clock.ts';
import { type LocalApiServer, startApiServer } from '../../src/local/kubernetes/apiserver/server.ts';
import { type ControlPlane, startControlPlane } from './harness/controlplane.ts';
import { type Answer, type Server, serverAt } from './harness/http.ts';
import { eventually } from './harness/processes.ts';
import { comparable } from './parity/normal.ts';
import { BROKEN, PARAMS_PROBE, POLICIES, PROBE, REQUESTS } from './parity/policies.ts';

const ALL = [...REQUESTS, ...BROKEN];

describe('ValidatingAdmissionPolicies on the local API server and on a real one', () => {
  let plane: ControlPlane;
  let local: LocalApiServer;
  const answers = { real: new Map<string, Answer>(), ours: new Map<string, Answer>() };

  beforeAll(async () => {
    plane = await startControlPlane({ controllers: false });
    local = await startApiServer({ clock: steadyClock() });
    const servers: Record<'real' | 'ours', Server> = {
      real: serverAt(plane.url, plane.credentials),
      ours: serverAt(local.url),
    };
    for (const which of ['real', 'ours'] as const) {
      const server = servers[which];
      for (const request of POLICIES) expect((await server.send(request)).body).toHaveProperty('metadata.uid');
      const isEnforced = async (): Promise<true | undefined> => (await server.send(PROBE)).code === 422 || undefined;
      await eventually('the policies to be enforced', isEnforced, 30_000);
      const hasParams = async (): Promise<true | undefined> =>
        JSON.stringify((await server.send(PARAMS_PROBE)).body).includes('most 1') || undefined;
      for (const [name, request] of ALL) {
        answers[which].set(name, await server.send(request));
        if (name === 'the parameters') await eventually('the parameters to be known', hasParams, 30_000);
      }
      server.close();
    }
  }, 180_000);
  afterAll(async () => {
    await local?.close();
    await plane?.stop();
  }, 60_000);

  it.each(ALL.map(([name]) => name))('agree: %s', (name) => {
    const isWorded = !BROKEN.some(([broken]) => broken === name);
    const [real, ours] = [answers.real.get(name), answers.ours.get(name)];
    if (!real || !ours) throw new Error('was not asked');
    expect(comparable(ours, isWorded)).toEqual(comparable(real, isWorded));
    expect(ours.warnings).toEqual(real.warnings);
  });
});
