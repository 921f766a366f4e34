/** Writes objects one by one as a List, because a cluster may be larger than the memory. */
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import type { KubeObject } from '../../api/kubernetes.ts';
import { yamlText } from '../render/yaml.ts';

export type ListFormat = 'yaml' | 'json';

/** Texts before, between and after the items of a list. */
interface Form {
  readonly head: string;
  readonly separator: string;
  readonly foot: string;
  readonly item: (object: KubeObject) => string;
}

/** Forms of the list. `kind` is the last field, so that commands reject a truncated file, which has no kind. */
const FORMS: Readonly<Record<ListFormat, Form>> = {
  yaml: {
    head: 'apiVersion: v1\nitems:\n',
    separator: '',
    foot: 'kind: List\nmetadata:\n  resourceVersion: ""\n',
    // long lines are not folded, because a fold would split messages
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

  /** Resolves after the reader has consumed the objects. */
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
