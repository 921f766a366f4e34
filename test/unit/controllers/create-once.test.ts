import { describe, expect, it } from '@jest/globals';
import { NODE_CLAIM, type NodeClaim } from '#api/objects';
import { ApiError, ConnectionError, type KubeClient } from '#kube/client';
import { createOnce, generatedName } from '../../../src/controllers/claims.ts';
import { virtualClock } from '../virtualclock.ts';

const CLAIM = {
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodeClaim',
  metadata: { name: '', generateName: 'default-' },
  spec: {},
} as NodeClaim;
const LOST = new ConnectionError('socket hang up', false);
const TIMED_OUT = new ApiError(500, 'InternalError', 'etcdserver: request timed out');

/** Outcome of one request: if the server creates the object, and the response that the client receives. */
interface Fate {
  readonly made: boolean;
  readonly error?: Error;
}

/** An API server that handles the first requests as given, and accepts later requests. */
function serverOf(...fates: readonly Fate[]) {
  const made: NodeClaim[] = [];
  const asked: string[] = [];
  const client = {
    async create(_: unknown, object: NodeClaim) {
      const { name } = object.metadata;
      const { made: isMade, error }: Fate = fates[asked.length] ?? { made: true };
      asked.push(name);
      if (made.some(({ metadata }) => metadata.name === name))
        throw new ApiError(409, 'AlreadyExists', `nodeclaims.karpenter.sh "${name}" already exists`);
      if (isMade) made.push({ ...object, metadata: { ...object.metadata, uid: `uid-${made.length}` } });
      if (error) throw error;
      return made.at(-1);
    },
    get: async (_: unknown, { name }: { name: string }) => made.find(({ metadata }) => metadata.name === name),
  } as unknown as KubeClient;
  const clock = virtualClock();
  const stop = new AbortController();
  const outcome = async (): Promise<NodeClaim | Error> => {
    const creating = createOnce({ client, clock, signal: stop.signal }, NODE_CLAIM, CLAIM).catch(
      (error: Error) => error,
    );
    await clock.advance(120_000);
    return creating;
  };
  return { made, asked, stop, outcome };
}

describe('createOnce', () => {
  it('generates a name in the format of the API server', async () => {
    const server = serverOf();
    expect(await server.outcome()).toMatchObject({ metadata: { uid: 'uid-0', generateName: 'default-' } });
    expect(server.asked[0]).toMatch(/^default-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  });

  it.each<[string, readonly Fate[]]>([
    ['the connection breaks before the request arrives', [{ made: false, error: LOST }]],
    ['the response is lost', [{ made: true, error: LOST }]],
    ['the request times out without an effect', [{ made: false, error: TIMED_OUT }]],
    ['the request times out after the object was stored', [{ made: true, error: TIMED_OUT }]],
    [
      'it fails several times',
      [
        { made: false, error: LOST },
        { made: true, error: TIMED_OUT },
        { made: false, error: LOST },
      ],
    ],
  ])('creates and returns a single object if %s', async (_, fates) => {
    const server = serverOf(...fates);
    expect(await server.outcome()).toMatchObject({ metadata: { uid: 'uid-0' } });
    expect(server.made).toHaveLength(1);
    expect(new Set(server.asked).size).toBe(1);
  });

  it.each([
    ['a validation error', new ApiError(422, 'Invalid', 'spec is invalid')],
    ['a name conflict', new ApiError(409, 'AlreadyExists', 'exists')],
    ['a missing permission', new ApiError(403, 'Forbidden', 'no')],
  ])('does not retry after %s', async (_, error) => {
    const server = serverOf({ made: false, error });
    expect(await server.outcome()).toBe(error);
    expect(server.asked).toHaveLength(1);
  });

  it('gives up if the server stays unavailable', async () => {
    const server = serverOf(...Array.from({ length: 20 }, () => ({ made: false, error: LOST })));
    expect(await server.outcome()).toBe(LOST);
    expect(server.asked).toHaveLength(11);
  });
});

describe('createOnce of a stopping process', () => {
  it('sends no further request', async () => {
    const server = serverOf({ made: false, error: LOST });
    server.stop.abort();
    expect(await server.outcome()).toBe(LOST);
    expect(server.asked).toHaveLength(1);
  });
});

describe('generatedName', () => {
  it('is unique per call', () => {
    expect(new Set(Array.from({ length: 50 }, () => generatedName('a-'))).size).toBeGreaterThan(45);
  });
});
