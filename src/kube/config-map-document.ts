/**
 * A text that survives restarts in a ConfigMap: compressed, and never larger than a bound. Who reads it afterwards starts
 * afresh where it is missing or broken; an object of that name that somebody else made is never written.
 */
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { apiVersionOf, CONFIG_MAP } from '../api/kinds.ts';
import type { ConfigMap } from '../api/kubernetes.ts';
import { errorText } from '../observe/error-text.ts';
import type { LogFields, Logger } from '../observe/logger.ts';
import { ApiError, isConflict, type KubeClient } from './client.ts';

const zipped = promisify(gzip);
const unzipped = promisify(gunzip);

/** Label that says what a ConfigMap holds, and that the operator wrote it. */
export const DOCUMENT_LABEL = 'karpenter.sh/document';
const KEY = 'document.json.gz';
/** Compressed and in base64. The API server takes a ConfigMap of 1 MiB. */
const MOST_BYTES = 512 * 1024;
/** A text of which the compressed form is within its bound is not larger by far, unless somebody wants it to be. */
const MOST_TEXT_BYTES = 16 * 1024 * 1024;
const MOST_TRIES = 3;

export interface DocumentOptions {
  readonly client: Pick<KubeClient, 'find' | 'create' | 'update'>;
  readonly log: Logger;
  readonly namespace: string;
  readonly name: string;
  /** Default 512 KiB. */
  readonly mostBytes?: number;
}

export class ConfigMapDocument {
  readonly #options: DocumentOptions;
  readonly #mostBytes: number;
  /** What was said last: once is enough. */
  #reported = '';

  constructor(options: DocumentOptions) {
    this.#options = options;
    this.#mostBytes = options.mostBytes ?? MOST_BYTES;
  }

  /** The text; undefined where there is none, or none that can be used. @throws Error when the API server does not answer */
  async read(): Promise<string | undefined> {
    const found = await this.#find();
    if (found === undefined) return undefined;
    if (this.#isForeign(found)) return undefined;
    // as the chart creates it
    if (found.binaryData === undefined) return undefined;
    try {
      return await textOf(found, this.#mostBytes);
    } catch (error) {
      this.startAfresh(error);
      return undefined;
    }
  }

  /** Reports that what was read cannot be used. */
  startAfresh(error: unknown): void {
    if (this.#isNew(error))
      this.#options.log.error('failed reading what was kept, starting afresh', this.#fields(error));
  }

  /** Reports once that it cannot be read or written now, for whatever reason. */
  failed(error: unknown): void {
    if (this.#isNew(error)) this.#options.log.error('failed keeping what is to survive restarts', this.#fields(error));
  }

  /**
   * Writes the first of some texts that is small enough; nothing over an object of somebody else. Who writes is the one
   * that works: its text takes the place of any other.
   * @throws Error when the API server refuses or does not answer
   */
  async write(texts: Iterable<string>): Promise<void> {
    const data = await this.#fitting(texts);
    if (data === undefined) return;
    for (let tries = 1; ; tries += 1) {
      try {
        await this.#put(data);
        return;
      } catch (error) {
        if (!isOvertaken(error) || tries >= MOST_TRIES) throw error;
      }
    }
  }

  async #fitting(texts: Iterable<string>): Promise<string | undefined> {
    let bytes = 0;
    for (const text of texts) {
      const data = (await zipped(text)).toString('base64');
      if (data.length <= this.#mostBytes) return data;
      bytes = data.length;
    }
    this.failed(new Error(`${bytes} bytes are more than ${this.#mostBytes}`));
    return undefined;
  }

  async #put(data: string): Promise<void> {
    const { client, name, namespace } = this.#options;
    const found = await this.#find();
    if (found === undefined) {
      await client.create(CONFIG_MAP, {
        apiVersion: apiVersionOf(CONFIG_MAP),
        kind: CONFIG_MAP.kind,
        metadata: { name, namespace, labels: { [DOCUMENT_LABEL]: name } },
        binaryData: { [KEY]: data },
      });
      return;
    }
    if (this.#isForeign(found)) return;
    // carries its resourceVersion: a write in between is noticed
    await client.update(CONFIG_MAP, { ...found, binaryData: { [KEY]: data } });
  }

  #find(): Promise<ConfigMap | undefined> {
    const { client, name, namespace } = this.#options;
    return client.find(CONFIG_MAP, { name, namespace });
  }

  #isForeign({ metadata }: ConfigMap): boolean {
    const { log, name } = this.#options;
    if (metadata.labels?.[DOCUMENT_LABEL] === name) return false;
    const error = new Error(`it has no label ${DOCUMENT_LABEL}=${name}`);
    if (this.#isNew(error)) log.error('leaving alone a ConfigMap that somebody else made', this.#fields(error));
    return true;
  }

  /** Once is enough. */
  #isNew(error: unknown): boolean {
    const text = errorText(error);
    const isNew = text !== this.#reported;
    this.#reported = text;
    return isNew;
  }

  #fields(error: unknown): LogFields {
    const { name, namespace } = this.#options;
    return { ConfigMap: { name, namespace }, error };
  }
}

/** The text of a ConfigMap that {@link ConfigMapDocument} wrote. @throws Error saying what is wrong with it */
export async function textOf({ binaryData }: ConfigMap, mostBytes = MOST_BYTES): Promise<string> {
  const data = binaryData?.[KEY];
  if (typeof data !== 'string') throw new Error(`binaryData has no ${KEY}`);
  if (data.length > mostBytes) throw new Error(`${data.length} bytes are more than ${mostBytes}`);
  return (await unzipped(Buffer.from(data, 'base64'), { maxOutputLength: MOST_TEXT_BYTES })).toString();
}

/** Somebody else wrote, created or deleted it meanwhile. */
const isOvertaken = (error: unknown): boolean =>
  isConflict(error) || (error instanceof ApiError && ['AlreadyExists', 'NotFound'].includes(error.reason));
