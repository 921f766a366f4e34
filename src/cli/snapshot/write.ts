/** Writes objects as one List, one after the other: a cluster is larger than the memory. */
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import type { KubeObject } from '../../api/kubernetes.ts';
import { yamlText } from '../render/yaml.ts';

export type ListFormat = 'yaml' | 'json';

/** What opens a list, what stands between two items, and what closes it. */
interface Form {
  readonly head: string;
  readonly separator: string;
  readonly foot: string;
  readonly item: (object: KubeObject) => string;
}

/** `kind` comes last: a file that broke off has none, and no verb takes it for a whole one. */
const FORMS: Readonly<Record<ListFormat, Form>> = {
  yaml: {
    head: 'apiVersion: v1\nitems:\n',
    separator: '',
    foot: 'kind: List\nmetadata:\n  resourceVersion: ""\n',
    // a folded line would break in the middle of a message
    item: (object) => yamlText([object], { lineWidth: 0 }),
  },
  json: {
    head: '{"apiVersion":"v1","items":[\n',
    separator: ',\n',
    foot: '\n],"kind":"List","metadata":{"resourceVersion":""}}\n',
    item: (object) => JSON.stringify(object),
  },
};

export class ListWriter {
  readonly #output: Writable;
  readonly #form: Form;
  #count = 0;

  constructor(output: Writable, format: ListFormat) {
    this.#output = output;
    this.#form = FORMS[format];
  }

  /** Resolves when the reader has kept up. */
  async add(objects: readonly KubeObject[]): Promise<void> {
    for (const object of objects) {
      const before = this.#count === 0 ? this.#form.head : this.#form.separator;
      this.#count += 1;
      await this.#write(before + this.#form.item(object));
    }
  }

  end(): Promise<void> {
    return this.#write(this.#count === 0 ? this.#form.head + this.#form.foot : this.#form.foot);
  }

  async #write(text: string): Promise<void> {
    if (!this.#output.write(text)) await once(this.#output, 'drain');
  }
}
