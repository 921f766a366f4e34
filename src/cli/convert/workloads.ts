/** Renames labels, annotations and taints of old Karpenter APIs in pods and in objects with a pod template. */
import { type Document, isMap, isScalar, isSeq, type Pair, type YAMLMap } from 'yaml';
import { DISRUPTED_TAINT, DO_NOT_DISRUPT_ANNOTATION } from '#api/objects';
import { entriesOf, keyOf, nodeOf, plain, resolveAlias } from './nodes.ts';
import { below, type Path, type TakeNote } from './notes.ts';
import type { FoundObject } from './objects.ts';
import { ANNOTATIONS, GONE_LABELS, OLD_DISRUPTION_TAINT, OLD_POOL_LABEL, RENAMED_LABELS } from './renames.ts';

/** Paths of pod templates by kind. Any other kind may have a template at spec.template. */
const TEMPLATES: Readonly<Record<string, Path>> = {
  Pod: [],
  Node: [],
  PodTemplate: ['template'],
  ScaledJob: ['spec', 'jobTargetRef', 'template'],
  CronJob: ['spec', 'jobTemplate', 'spec', 'template'],
};
const TEMPLATE: Path = ['spec', 'template'];

/**
 * Converts a workload. Keeps anchors, aliases and merge keys, and changes shared nodes once.
 *
 * @returns whether anything was changed
 */
export function convertWorkload(found: FoundObject, note: TakeNote): boolean {
  const path = Object.hasOwn(TEMPLATES, found.kind) ? (TEMPLATES[found.kind] ?? []) : TEMPLATE;
  const edit = new PodTemplateEdit(found.source.document, below(note, path));
  const template = edit.at(found.map, path);
  if (template !== undefined) edit.convert(template);
  return edit.isChanged;
}

class PodTemplateEdit {
  readonly #document: Document;
  readonly #note: TakeNote;
  isChanged = false;

  constructor(document: Document, note: TakeNote) {
    this.#document = document;
    this.#note = note;
  }

  convert(template: YAMLMap): void {
    this.#renameKeys(this.at(template, ['metadata', 'annotations']), ['metadata', 'annotations'], ANNOTATIONS);
    const annotations: Path = ['metadata', 'annotations'];
    this.isChanged = addDoNotDisrupt(this.at(template, annotations), annotations, this.#note) || this.isChanged;
    this.#noteLabels(template);
    const spec = this.at(template, ['spec']);
    if (spec === undefined) return;
    const selector = this.at(spec, ['nodeSelector']);
    this.#dropGone(selector, ['spec', 'nodeSelector']);
    this.#renameKeys(selector, ['spec', 'nodeSelector'], RENAMED_LABELS);
    this.#convertTolerations(spec);
    this.#convertTopologies(spec);
    this.#convertAffinity(spec);
  }

  /** Adds notes for annotations that are used as labels, because such labels have no effect. */
  #noteLabels(template: YAMLMap): void {
    const labels = this.at(template, ['metadata', 'labels']);
    if (labels === undefined) return;
    for (const pair of entriesOf(labels, this.#document)) {
      const key = String(keyOf(pair));
      const name = ANNOTATIONS.get(key);
      if (name === undefined) continue;
      const text = `has never had an effect as a label; use the pod annotation ${name}`;
      this.#note('lost', ['metadata', 'labels', key], text);
    }
  }

  /** Returns the map at a path, or undefined if there is none. */
  at(map: YAMLMap, path: Path): YAMLMap | undefined {
    let node: unknown = map;
    for (const step of path) {
      if (!isMap(node)) return undefined;
      node = this.#member(node, String(step));
    }
    return isMap(node) ? node : undefined;
  }

  #member(map: YAMLMap, key: string): unknown {
    return resolveAlias(this.#pair(map, key)?.value, this.#document);
  }

  /** Returns the items of a list that are maps. */
  #items(map: YAMLMap, key: string): readonly (readonly [item: YAMLMap, index: number])[] {
    const list = this.#member(map, key);
    if (!isSeq(list)) return [];
    return list.items.flatMap((item, index) => {
      const one = resolveAlias(item, this.#document);
      return isMap(one) ? [[one, index] as const] : [];
    });
  }

  #text(map: YAMLMap, key: string): string {
    const value = plain(this.#member(map, key));
    return typeof value === 'string' ? value : '';
  }

  #pair(map: YAMLMap, key: string): Pair | undefined {
    return entriesOf(map, this.#document).find((pair) => keyOf(pair) === key);
  }

  #renameKeys(map: YAMLMap | undefined, path: Path, names: ReadonlyMap<string, string>): void {
    if (map === undefined) return;
    for (const pair of entriesOf(map, this.#document)) {
      const key = String(keyOf(pair));
      const name = names.get(key);
      if (name === undefined || !isScalar(pair.key)) continue;
      if (map.has(name)) map.delete(key);
      else pair.key.value = name;
      this.#changed([...path, key], `is now called ${name}`, [...path, name]);
    }
  }

  #dropGone(map: YAMLMap | undefined, path: Path): void {
    if (map === undefined) return;
    for (const [key, reason] of GONE_LABELS) {
      if (!map.delete(key)) continue;
      this.isChanged = true;
      this.#note('lost', [...path, key], reason, path);
    }
  }

  #changed(field: Path, text: string, at: Path = field): void {
    this.isChanged = true;
    this.#note('changed', field, text, at);
  }

  #convertTolerations(spec: YAMLMap): void {
    for (const [toleration, index] of this.#items(spec, 'tolerations')) {
      if (this.#text(toleration, 'key') !== OLD_DISRUPTION_TAINT) continue;
      toleration.set('key', nodeOf(DISRUPTED_TAINT.key));
      // the v1 taint has no value
      toleration.delete('value');
      if (toleration.has('operator')) toleration.set('operator', nodeOf('Exists'));
      else toleration.add({ key: nodeOf('operator'), value: nodeOf('Exists') });
      const text = `${OLD_DISRUPTION_TAINT} is now ${DISRUPTED_TAINT.key}, without a value`;
      this.#changed(['spec', 'tolerations', index], text);
    }
  }

  #convertTopologies(spec: YAMLMap): void {
    for (const [constraint, index] of this.#items(spec, 'topologySpreadConstraints'))
      this.#convertKey(constraint, 'topologyKey', ['spec', 'topologySpreadConstraints', index]);
    for (const kind of ['podAffinity', 'podAntiAffinity']) {
      const affinity = this.at(spec, ['affinity', kind]);
      if (affinity === undefined) continue;
      const path: Path = ['spec', 'affinity', kind];
      for (const [term, index] of this.#items(affinity, REQUIRED))
        this.#convertKey(term, 'topologyKey', [...path, REQUIRED, index]);
      for (const [preferred, index] of this.#items(affinity, PREFERRED)) {
        const term = this.at(preferred, ['podAffinityTerm']);
        if (term) this.#convertKey(term, 'topologyKey', [...path, PREFERRED, index, 'podAffinityTerm']);
      }
    }
  }

  #convertKey(map: YAMLMap, field: string, path: Path): void {
    const name = RENAMED_LABELS.get(this.#text(map, field));
    const pair = this.#pair(map, field);
    if (name === undefined || pair === undefined) return;
    const old = this.#text(map, field);
    pair.value = nodeOf(name);
    this.#changed([...path, field], `${old} is now ${name}`);
  }

  #convertAffinity(spec: YAMLMap): void {
    const path: Path = ['spec', 'affinity', 'nodeAffinity'];
    const affinity = this.at(spec, path.slice(1));
    if (affinity === undefined) return;
    const required = this.at(affinity, [REQUIRED]);
    if (required !== undefined)
      for (const [term, index] of this.#items(required, 'nodeSelectorTerms'))
        this.#convertTerm(term, [...path, REQUIRED, 'nodeSelectorTerms', index]);
    for (const [preferred, index] of this.#items(affinity, PREFERRED)) {
      const term = this.at(preferred, ['preference']);
      if (term) this.#convertTerm(term, [...path, PREFERRED, index, 'preference']);
    }
  }

  #convertTerm(term: YAMLMap, path: Path): void {
    const expressions = this.#member(term, 'matchExpressions');
    for (const [expression, index] of [...this.#items(term, 'matchExpressions')].reverse()) {
      const [key, field] = [this.#text(expression, 'key'), [...path, 'matchExpressions', index]];
      const reason = GONE_LABELS.get(key);
      if (reason !== undefined && isSeq(expressions)) {
        this.isChanged = true;
        if (expressions.items.length > 1) {
          expressions.items.splice(index, 1);
          this.#note('lost', field, `${key}: ${reason}`, path);
        } else {
          // a term without expressions would match no node
          expression.set('key', nodeOf('kubernetes.io/os'));
          expression.set('operator', nodeOf('Exists'));
          expression.delete('values');
          this.#note('lost', field, `${key}: ${reason}; any node matches instead`);
        }
      } else if (key === OLD_POOL_LABEL) {
        this.#convertKey(expression, 'key', field);
        if (this.#text(expression, 'operator') === 'DoesNotExist')
          this.#note('changed', field, 'nodes of Provisioners still match', field);
      }
    }
  }
}

const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution';
const PREFERRED = 'preferredDuringSchedulingIgnoredDuringExecution';

/** Adds Karpenter's annotation for pods that cluster-autoscaler must not evict. */
const SAFE_TO_EVICT = 'cluster-autoscaler.kubernetes.io/safe-to-evict';

/**
 * Adds Karpenter's annotation beside the annotation of cluster-autoscaler, because both autoscalers may run until the
 * last group is removed.
 *
 * @param path path of the annotations
 * @returns whether anything was changed
 */
function addDoNotDisrupt(annotations: YAMLMap | undefined, path: Path, note: TakeNote): boolean {
  if (annotations === undefined || String(annotations.get(SAFE_TO_EVICT)) !== 'false') return false;
  if (annotations.has(DO_NOT_DISRUPT_ANNOTATION)) return false;
  annotations.add({ key: nodeOf(DO_NOT_DISRUPT_ANNOTATION), value: nodeOf('true') });
  note(
    'changed',
    [...path, SAFE_TO_EVICT],
    `${DO_NOT_DISRUPT_ANNOTATION}: "true" is the equivalent in Karpenter; it protects the node from disruption, but not from expiration`,
    [...path, DO_NOT_DISRUPT_ANNOTATION],
  );
  return true;
}
