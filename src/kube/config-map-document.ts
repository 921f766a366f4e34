/**
 * Stores a text in a ConfigMap, so that the text survives restarts. The text is compressed and never exceeds a size limit. If the
 * ConfigMap is missing or invalid, the reader starts without a text. A text that cannot be read, for example that of a newer
 * version before a rollback, is kept beside the new text. A ConfigMap of this name without the operator's label is never written.
 */
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { apiVersionOf, CONFIG_MAP, type ConfigMap } from '#api/objects';
import { errorText, type LogFields, type Logger } from '#observe/logger';
import { ApiError, isConflict, type KubeClient } from './client.ts';

const zipped = promisify(gzip);
const unzipped = promisify(gunzip);

/** Label for the content of a ConfigMap. It also marks the ConfigMap as written by the operator. */
export const DOCUMENT_LABEL = 'karpenter.sh/document';
const KEY = 'document.json.gz';
/** Key of a text that an earlier process could not read. */
const UNREAD_KEY = 'unread.json.gz';
/** Maximum size after compression, in base64. The API server accepts a ConfigMap of up to 1 MiB. */
const MOST_BYTES = 512 * 1024;
/** Maximum size after decompression. A text within the compressed limit exceeds this size only if it is malicious. */
const MOST_TEXT_BYTES = 16 * 1024 * 1024;
/** Maximum size of both texts, so that their ConfigMap is accepted. */
const MOST_TOTAL_BYTES = 960 * 1024;
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
  /** Data that was read, by key. Undefined before the first read. */
  #read: ConfigMap['binaryData'];
  /** Data that cannot be read and is kept. */
  #unread: string | undefined;
  /** Last reported error. The same error is reported only once. */
  #reported = '';

  constructor(options: DocumentOptions) {
    this.#options = options;
    this.#mostBytes = options.mostBytes ?? MOST_BYTES;
  }

  /** Returns the text, or undefined if no usable text exists. @throws Error if the API server does not respond */
  async read(): Promise<string | undefined> {
    const found = await this.#find();
    if (found === undefined) return undefined;
    if (this.#isForeign(found)) return undefined;
    // the chart creates the ConfigMap without data
    if (found.binaryData === undefined) return undefined;
    this.#read = found.binaryData;
    this.#unread = found.binaryData[UNREAD_KEY];
    try {
      return await textOf(found, this.#mostBytes);
    } catch (error) {
      this.startAfresh(error);
      return undefined;
    }
  }

  /** Returns the text that an earlier process could not read, if it is not corrupt. Must be called after {@link read}. */
  async readUnread(): Promise<string | undefined> {
    const data = this.#read?.[UNREAD_KEY];
    if (data === undefined) return undefined;
    return unpack(data, this.#mostBytes).catch(() => undefined);
  }

  /** Removes the text of {@link readUnread} with the next write, because its content is now part of the written text. */
  dropUnread(): void {
    if (this.#unread === this.#read?.[UNREAD_KEY]) this.#unread = undefined;
  }

  /** Reports that the stored text cannot be used, and keeps it beside the next written text. */
  startAfresh(error: unknown): void {
    this.#unread = this.#read?.[KEY] ?? this.#unread;
    if (this.#isNew(error))
      this.#options.log.error(
        'failed reading the stored document, keeping it and starting with an empty one',
        this.#fields(error),
      );
  }

  /** Reports once that the text cannot be read or written, with the reason. */
  failed(error: unknown): void {
    if (this.#isNew(error)) this.#options.log.error('failed storing a document in its ConfigMap', this.#fields(error));
  }

  /**
   * Writes the first text that is small enough. Does not overwrite a ConfigMap without the operator's label. Only the active
   * operator writes, so its text replaces any stored text.
   * @throws Error if the API server refuses the write or does not respond
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
    const mostBytes = Math.min(this.#mostBytes, MOST_TOTAL_BYTES - (this.#unread?.length ?? 0));
    let bytes = 0;
    for (const text of texts) {
      const data = (await zipped(text)).toString('base64');
      if (data.length <= mostBytes) return data;
      bytes = data.length;
    }
    this.failed(new Error(`the size of ${bytes} bytes exceeds the limit of ${mostBytes}`));
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
    // includes the resourceVersion, so that the server rejects the update after a concurrent write
    const unread = this.#read === undefined ? found.binaryData?.[UNREAD_KEY] : this.#unread;
    const binaryData = { [KEY]: data, ...(unread !== undefined && { [UNREAD_KEY]: unread }) };
    await client.update(CONFIG_MAP, { ...found, binaryData });
  }

  #find(): Promise<ConfigMap | undefined> {
    const { client, name, namespace } = this.#options;
    return client.find(CONFIG_MAP, { name, namespace });
  }

  #isForeign({ metadata }: ConfigMap): boolean {
    const { log, name } = this.#options;
    if (metadata.labels?.[DOCUMENT_LABEL] === name) return false;
    const error = new Error(`the ConfigMap has no label ${DOCUMENT_LABEL}=${name}`);
    if (this.#isNew(error)) log.error('not using a ConfigMap that was created by another client', this.#fields(error));
    return true;
  }

  /** Returns true if this error is not the last reported one. */
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

/** Returns the text of a ConfigMap that {@link ConfigMapDocument} wrote. @throws Error if the ConfigMap is invalid */
export async function textOf({ binaryData }: ConfigMap, mostBytes = MOST_BYTES): Promise<string> {
  const data = binaryData?.[KEY];
  if (typeof data !== 'string') throw new Error(`binaryData has no ${KEY}`);
  return unpack(data, mostBytes);
}

async function unpack(data: string, mostBytes: number): Promise<string> {
  if (data.length > mostBytes) throw new Error(`the size of ${data.length} bytes exceeds the limit of ${mostBytes}`);
  return (await unzipped(Buffer.from(data, 'base64'), { maxOutputLength: MOST_TEXT_BYTES })).toString();
}

/** Returns true if another client wrote, created or deleted the ConfigMap in the meantime. */
const isOvertaken = (error: unknown): boolean =>
  isConflict(error) || (error instanceof ApiError && ['AlreadyExists', 'NotFound'].includes(error.reason));
