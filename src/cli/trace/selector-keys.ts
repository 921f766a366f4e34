/** Label keys that selectors use. A trace omits all other labels, because they may contain confidential data. */

import type { KubeObject } from '#api/objects';
import { isObject, type JsonObject, own } from '#lib';

export class SelectorKeys {
  readonly #keys = new Set<string>();

  /** Collects the keys of all label selectors in an object. */
  add(value: unknown): void {
    if (Array.isArray(value)) {
      for (const item of value) this.add(item);
      return;
    }
    if (!isObject(value)) return;
    for (const [field, inner] of Object.entries(value)) {
      if (field === 'matchLabels' && isObject(inner)) this.#addAll(Object.keys(inner));
      else if (field === 'matchExpressions' && Array.isArray(inner))
        this.#addAll(inner.map((each) => (isObject(each) ? each.key : undefined)));
      else if (/^(?:mis)?matchLabelKeys$/.test(field) && Array.isArray(inner)) this.#addAll(inner);
      else this.add(inner);
    }
  }

  #addAll(keys: readonly unknown[]): void {
    for (const key of keys) if (typeof key === 'string') this.#keys.add(key);
  }

  /** Returns the object with only these labels, on itself and on its pods. */
  kept(object: KubeObject): KubeObject {
    const { metadata, ...rest } = object as KubeObject & JsonObject;
    const spec = rest.spec;
    const isTemplate = isObject(spec) && isObject(spec.template) && object.kind !== 'NodePool';
    return {
      ...rest,
      metadata: this.#metadata(metadata),
      ...(isTemplate ? { spec: { ...spec, template: this.#template(spec.template as JsonObject) } } : {}),
    } as KubeObject;
  }

  #template(template: JsonObject): JsonObject {
    return isObject(template.metadata) ? { ...template, metadata: this.#metadata(template.metadata) } : template;
  }

  #metadata<T extends object>(metadata: T): T {
    const labels = own(metadata as JsonObject, 'labels');
    if (!isObject(labels)) return metadata;
    return { ...metadata, labels: Object.fromEntries(Object.entries(labels).filter(([key]) => this.#keys.has(key))) };
  }
}
