/** A text in a ConfigMap. Its owner continues after any change of the object. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { CONFIG_MAP, type ConfigMap } from '#api/objects';
import { ApiError } from '../../../src/kube/client.ts';
import { ConfigMapDocument, DOCUMENT_LABEL } from '../../../src/kube/config-map-document.ts';
import { DocumentKeeper } from '../../../src/kube/document-keeper.ts';
import { MemoryKube } from '../../support/memory-kube.ts';
import { virtualClock } from '../virtualclock.ts';
import { recordingLog } from './fakes.ts';

const NAME = 'karpenter-history';
const REF = { name: NAME, namespace: 'kube-system' };

function kept({ mostBytes }: { readonly mostBytes?: number } = {}) {
  const kube = new MemoryKube(virtualClock());
  const { log, lines } = recordingLog();
  const open = () =>
    new ConfigMapDocument({
      ...{ client: kube.client(new AbortController().signal), log, name: NAME, namespace: 'kube-system' },
      ...(mostBytes === undefined ? {} : { mostBytes }),
    });
  const put = (object: Partial<ConfigMap>): void => {
    const { labels = { [DOCUMENT_LABEL]: NAME } } = object.metadata ?? {};
    kube.create(CONFIG_MAP, { apiVersion: 'v1', kind: 'ConfigMap', ...object, metadata: { ...REF, labels } });
  };
  return { kube, document: open(), open, put, lines, stored: () => kube.find(CONFIG_MAP, REF) };
}

const packed = async (text: string): Promise<ConfigMap['binaryData']> => ({
  'document.json.gz': (await promisify(gzip)(text)).toString('base64'),
});

describe('a document', () => {
  it('can be read unchanged by another process', async () => {
    const { document, open, lines } = kept();
    expect(await document.read()).toBeUndefined();
    await document.write(['first']);
    await document.write(['second, ünïcode']);
    expect(await open().read()).toBe('second, ünïcode');
    expect(lines).toEqual([]);
  });

  it('is written into the ConfigMap that the chart created without data', async () => {
    const { document, open, put, lines } = kept();
    put({});
    expect(await document.read()).toBeUndefined();
    await document.write(['first']);
    expect(await open().read()).toBe('first');
    expect(lines).toEqual([]);
  });

  it('is reported once if the ConfigMap is missing and RBAC denies its creation', async () => {
    const { document, kube, lines, put, open } = kept();
    kube.beforeWrite = (operation) => {
      if (operation === 'create configmaps')
        throw new ApiError(403, 'Forbidden', 'cannot create resource "configmaps"');
    };
    const keeper = new DocumentKeeper(
      'history',
      { changes: 1, texts: () => ['text'], restore: () => undefined },
      document,
    );
    for (let tries = 0; tries < 4; tries += 1) expect(await keeper.reconcile()).toMatchObject({ kind: 'after' });
    expect(lines).toMatchObject([
      { level: 'error', message: 'failed storing a document in its ConfigMap', fields: { ConfigMap: REF } },
    ]);
    kube.beforeWrite = () => undefined;
    put({});
    await keeper.reconcile();
    expect(await open().read()).toBe('text');
  });

  it('keeps labels and annotations of other clients', async () => {
    const { document, kube, stored } = kept();
    await document.write(['first']);
    kube.patch(CONFIG_MAP, REF, { metadata: { annotations: { note: 'theirs' } } });
    await document.write(['second']);
    expect(stored()?.metadata.annotations).toEqual({ note: 'theirs' });
  });

  it('is the first that is small enough', async () => {
    const { document, lines, open } = kept({ mostBytes: 200 });
    const random = Array.from({ length: 400 }, (_, at) => ((at * 7_919) % 997).toString(36)).join('');
    await document.write([random, random.slice(0, 60), 'short']);
    expect(await open().read()).toBe(random.slice(0, 60));
    expect(lines).toEqual([]);
    await document.write([random]);
    await document.write([random]);
    expect(await open().read()).toBe(random.slice(0, 60));
    expect(lines.map(({ message }) => message)).toEqual(['failed storing a document in its ConfigMap']);
  });

  it('replaces a concurrent write', async () => {
    const { document, kube, open } = kept();
    await document.write(['first']);
    let overtaken = 0;
    kube.beforeWrite = (operation) => {
      if (operation !== 'update configmaps' || overtaken++ > 0) return;
      kube.patch(CONFIG_MAP, REF, { metadata: { annotations: { note: 'theirs' } } });
    };
    await document.write(['second']);
    expect(overtaken).toBe(2);
    expect(await open().read()).toBe('second');
  });

  it('is created once if two clients create it at the same time', async () => {
    const { document, kube, put, open } = kept();
    kube.beforeWrite = (operation) => {
      kube.beforeWrite = () => undefined;
      if (operation !== 'create configmaps') return;
      put({});
      throw new ApiError(409, 'AlreadyExists', 'it exists');
    };
    await document.write(['mine']);
    expect(await open().read()).toBe('mine');
  });

  it('fails if every attempt conflicts with another write', async () => {
    const { document, kube } = kept();
    await document.write(['first']);
    kube.beforeWrite = (operation) => {
      if (operation === 'update configmaps') throw new ApiError(409, 'Conflict', 'it changed');
    };
    await expect(document.write(['second'])).rejects.toThrow('it changed');
  });
});

describe('a document of a newer version', () => {
  /** Starts a process that can read some texts and writes a text. Returns the texts that it could read. */
  async function run(open: () => ConfigMapDocument, readable: RegExp, text: string): Promise<readonly string[]> {
    const restored: string[] = [];
    const restore = (stored: string): void => {
      if (!readable.test(stored)) throw new Error('it is not a text of this version');
      restored.push(stored);
    };
    const keeper = new DocumentKeeper('history', { changes: 1, texts: () => [text], restore }, open());
    await keeper.reconcile();
    await keeper.write();
    return restored;
  }

  it('is kept during a rollback, and read again after the next upgrade', async () => {
    const { open, lines, stored } = kept();
    expect(await run(open, /./, 'new 1')).toEqual([]);
    for (const text of ['old 2', 'old 3']) await run(open, /old/, text);
    expect(lines.map(({ message }) => message)).toEqual([
      'failed reading the stored document, keeping it and starting with an empty one',
    ]);
    expect(Object.keys(stored()?.binaryData ?? {})).toHaveLength(2);
    expect(await run(open, /./, 'new 4')).toEqual(['old 3', 'new 1']);
    expect(Object.keys(stored()?.binaryData ?? {})).toEqual(['document.json.gz']);
  });

  it('is kept beside a text that is small enough for both', async () => {
    const { open, put, stored, lines } = kept();
    put({ binaryData: { 'document.json.gz': 'x'.repeat(960 * 1024 - 100) } });
    const random = Array.from({ length: 400 }, (_, at) => ((at * 7_919) % 997).toString(36)).join('');
    const keeper = new DocumentKeeper(
      'history',
      { changes: 1, texts: () => [random, 'short'], restore: () => undefined },
      open(),
    );
    await keeper.reconcile();
    await keeper.write();
    expect(await open().read()).toBe('short');
    expect(stored()?.binaryData?.['unread.json.gz']).toHaveLength(960 * 1024 - 100);
    expect(lines).toHaveLength(1);
  });
});

describe('an object without a valid document', () => {
  it.each([
    ['another key', { other: 'eA==' }, /has no document\.json\.gz/],
    ['something else than base64 of gzip', { 'document.json.gz': 'bm90IHppcHBlZA==' }, /incorrect header/],
    ['the half of it', { 'document.json.gz': 'H4sIAAAAAAAAA0s=' }, /unexpected end of file/],
    ['too much', { 'document.json.gz': 'x'.repeat(600 * 1024) }, /614400 bytes exceeds the limit of 524288/],
  ])('is reported once and written again because it contains %s', async (_, binaryData, error) => {
    const { document, put, lines, open } = kept();
    put({ binaryData: binaryData as Record<string, string> });
    expect(await document.read()).toBeUndefined();
    expect(await document.read()).toBeUndefined();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ level: 'error', fields: { ConfigMap: REF } });
    expect(String(lines[0]?.fields.error)).toMatch(error);
    await document.write(['afresh']);
    expect(await open().read()).toBe('afresh');
  });

  it('is not unpacked if it is a compression bomb', async () => {
    const { document, put, lines } = kept();
    put({ binaryData: (await packed(' '.repeat(64 * 1024 * 1024))) ?? {} });
    expect(await document.read()).toBeUndefined();
    expect(String(lines[0]?.fields.error)).toMatch(/Cannot create a Buffer larger than/);
  });

  it('is neither read nor written until it is deleted if another client created it', async () => {
    const { document, kube, put, lines, stored, open } = kept();
    put({ metadata: { ...REF, labels: { app: 'theirs' } }, binaryData: (await packed('theirs')) ?? {} });
    const before = stored();
    expect(await document.read()).toBeUndefined();
    await document.write(['mine']);
    await document.write(['mine']);
    expect(stored()).toEqual(before);
    expect(lines.map(({ message }) => message)).toEqual(['not using a ConfigMap that was created by another client']);
    kube.delete(CONFIG_MAP, REF);
    await document.write(['mine']);
    expect(await open().read()).toBe('mine');
  });
});
