import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ApiError, type KubeClient } from '../../../src/kube/client.ts';
import { changes, deleteExactly, mergePatch, writeChanges } from '../../../src/kube/patch.ts';
import { Requeue } from '../../../src/kube/reconciler.ts';
import { WIDGET, widget } from './fakes.ts';

type Json = Record<string, unknown>;

/** Applies a patch as the server side of RFC 7386. */
function apply(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const isMap = typeof target === 'object' && target !== null && !Array.isArray(target);
  const result: Json = isMap ? { ...(target as Json) } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = apply(result[key], value);
  }
  return result;
}

const document = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, fc.string(), fc.integer(), fc.boolean(), fc.array(fc.integer()), tie('map')),
  map: fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), tie('value'), { noNullPrototype: true }),
})).map;

describe('mergePatch', () => {
  it('transforms the first document into the second', () => {
    fc.assert(
      fc.property(document, document, (before, after) => {
        expect(apply(before, mergePatch(before, after) ?? {})).toEqual(after);
      }),
    );
  });

  it('is undefined for equal documents', () => {
    fc.assert(fc.property(document, (same) => expect(mergePatch(same, structuredClone(same))).toBeUndefined()));
  });

  it.each([
    { before: { a: 1, b: 2 }, after: { a: 1 }, patch: { b: null } },
    { before: { list: [1, 2] }, after: { list: [1] }, patch: { list: [1] } },
    { before: {}, after: { a: {} }, patch: { a: {} } },
    { before: { a: 1 }, after: { a: 1, b: undefined }, patch: undefined },
    { before: { a: { b: 1, c: 2 } }, after: { a: { b: 1, c: 3 } }, patch: { a: { c: 3 } } },
  ])('turns $before into $after by $patch', ({ before, after, patch }) => {
    expect(mergePatch(before, after)).toEqual(patch);
  });
});

describe('changes', () => {
  const before = widget('a', 7, 'red');

  it('leaves the status to status writes', () => {
    const after = { ...before, spec: { color: 'blue' }, status: { seen: true } };
    expect(changes(before, after, { part: 'object' })).toEqual({ spec: { color: 'blue' } });
    expect(changes(before, after, { part: 'status' })).toEqual({ status: { seen: true } });
    expect(changes(before, before, { part: 'object', lock: true })).toBeUndefined();
  });

  it('contains the version that was read if it locks', () => {
    const after = { ...before, metadata: { ...before.metadata, labels: { team: 'x' } } };
    expect(changes(before, after, { part: 'object', lock: true })).toEqual({
      metadata: { labels: { team: 'x' }, resourceVersion: '7' },
    });
  });
});

describe('a write', () => {
  const failing = (status: number, reason: string): KubeClient => {
    const fail = async (): Promise<never> => {
      throw new ApiError(status, reason, 'no');
    };
    return { patch: fail, delete: fail } as unknown as KubeClient;
  };
  const versions = { before: widget('a', 1, 'red'), after: widget('a', 1, 'blue') };

  it('requests a retry after a conflict, and ignores a missing object', async () => {
    const write = (client: KubeClient) => writeChanges(client, WIDGET, versions, { part: 'object', lock: true });
    await expect(write(failing(409, 'Conflict'))).rejects.toThrow(Requeue);
    expect(await write(failing(404, 'NotFound'))).toBeUndefined();
    await expect(write(failing(422, 'Invalid'))).rejects.toThrow(ApiError);
  });

  it('sends no request without a change', async () => {
    const { before } = versions;
    expect(await writeChanges(failing(500, 'x'), WIDGET, { before, after: before }, { part: 'object' })).toBe(before);
  });

  it('returns false if the object was already deleted', async () => {
    expect(await deleteExactly(failing(404, 'NotFound'), WIDGET, versions.before)).toBe(false);
    await expect(deleteExactly(failing(403, 'Forbidden'), WIDGET, versions.before)).rejects.toThrow(ApiError);
  });

  it.each([
    { what: 'there is a later one of its name', now: widget('a', 9, 'red', 'successor'), gone: true },
    { what: 'there is none', now: undefined, gone: true },
    { what: 'it is there', now: widget('a', 9), gone: false },
  ])('reads the object again after a conflict: $what', async ({ now, gone }) => {
    const client = { ...failing(409, 'Conflict'), find: async () => now } as KubeClient;
    const deleted = deleteExactly(client, WIDGET, widget('a', 1));
    if (gone) expect(await deleted).toBe(false);
    else await expect(deleted).rejects.toThrow(ApiError);
  });
});
