/** Lists, pages and watches from resource versions that are expired or in the future. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { steadyClock } from '#lib/clock';
import { type LocalApiServer, startApiServer } from '#local/testing';
import { type ControlPlane, startControlPlane } from './harness/controlplane.ts';
import { askEtcd, base64 } from './harness/etcd.ts';
import { type Answer, type Server, serverAt } from './harness/http.ts';
import { comparable, normal } from './parity/normal.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';

interface Listed {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

describe('an expired resource version', () => {
  let plane: ControlPlane;
  let local: LocalApiServer;
  /** Each server has a started list, later changes, and no history before these. */
  let both: readonly { readonly server: Server; readonly begun: Listed['metadata'] }[];

  beforeAll(async () => {
    // The watch cache would keep versions that etcd has compacted.
    plane = await startControlPlane({ controllers: false, apiServerFlags: ['--watch-cache=false'] });
    local = await startApiServer({ clock: steadyClock() });
    both = await Promise.all([
      begin(serverAt(plane.url, plane.credentials), forgetAll),
      begin(serverAt(local.url), async () => local.expireHistory()),
    ]);
  }, 180_000);
  afterAll(async () => {
    for (const { server } of both ?? []) server.close();
    await local?.close();
    await plane?.stop();
  }, 60_000);

  async function begin(server: Server, forget: () => Promise<unknown>) {
    const make = (name: string): Promise<Answer> =>
      server.send({ method: 'POST', path: MAPS, body: { metadata: { name } } });
    for (const name of ['a', 'b', 'c']) await make(name);
    const { body } = await server.send({ method: 'GET', path: `${MAPS}?limit=1` });
    await server.send({ method: 'DELETE', path: `${MAPS}/c` });
    await make('d');
    await forget();
    return { server, begun: (body as Listed).metadata };
  }

  async function forgetAll(): Promise<void> {
    const { header } = await askEtcd(plane, '/v3/kv/range', { key: base64('\0') });
    await askEtcd(plane, '/v3/kv/compaction', { revision: header.revision, physical: true });
  }

  const token = ({ continue: next = '' }: Listed['metadata']): string => `continue=${encodeURIComponent(next)}`;
  const remembered = (answer: Answer): unknown => {
    const { items } = answer.body as Listed;
    return items ? { code: answer.code, names: items.map(({ metadata }) => metadata.name) } : comparable(answer, true);
  };

  it.each<[string, number, (begun: Listed['metadata']) => string]>([
    ['a page of an expired list', 410, (begun) => `limit=5&${token(begun)}`],
    ['the version of a list', 410, (begun) => `resourceVersion=${begun.resourceVersion}&resourceVersionMatch=Exact`],
    ['the first version', 410, () => 'resourceVersion=1&resourceVersionMatch=Exact&limit=1'],
    ['any version after an expired one', 200, (begun) => `resourceVersion=${begun.resourceVersion}`],
    ['no version', 200, () => ''],
  ])('%s: %d', async (_, code, query) => {
    const answers = await Promise.all(
      both.map(({ server, begun }) => server.send({ method: 'GET', path: `${MAPS}?${query(begun)}` })),
    );
    const [real, ours] = answers.map(remembered);
    expect(answers[0]?.code).toBe(code);
    expect(ours).toEqual(real);
  });

  it('lets an expired list continue with the current state', async () => {
    const rest = both.map(async ({ server, begun }) => {
      const gone = await server.send({ method: 'GET', path: `${MAPS}?limit=5&${token(begun)}` });
      const { metadata } = gone.body as Listed;
      return remembered(await server.send({ method: 'GET', path: `${MAPS}?limit=5&${token(metadata)}` }));
    });
    const [real, ours] = await Promise.all(rest);
    expect(real).toEqual({ code: 200, names: ['b', 'd'] });
    expect(ours).toEqual(real);
  });

  it.each<[string, (begun: Listed['metadata']) => string]>([
    ['the first version', () => '1'],
    ['the version of an expired list', (begun) => begun.resourceVersion],
  ])(
    'ends a watch from %s with one error',
    async (_, version) => {
      const [real, ours] = await Promise.all(
        both.map(({ server, begun }) =>
          server.watch(`${MAPS}?watch=true&timeoutSeconds=60&resourceVersion=${version(begun)}`, () => false),
        ),
      );
      expect(real).toMatchObject([{ type: 'ERROR', object: { code: 410, reason: 'Expired' } }]);
      // A server whose watch cache is too short returns the same message as the local server.
      const withoutMessage = (events: unknown): unknown =>
        JSON.parse(JSON.stringify(events).replace(/"message":"[^"]*",/, ''));
      expect(withoutMessage(normal(ours))).toEqual(withoutMessage(normal(real)));
    },
    60_000,
  );

  it('accepts a watch from a future version', async () => {
    const [real, ours] = await Promise.all(
      both.map(({ server }) =>
        server.watch(`${MAPS}?watch=true&timeoutSeconds=1&resourceVersion=99999999`, () => false),
      ),
    );
    expect(real).toEqual([]);
    expect(ours).toEqual(real);
  }, 60_000);
});
