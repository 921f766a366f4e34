/** Intermediate form of a node group between the input of other tools and a NodePool with an EC2NodeClass. */
import type { Budget, EC2NodeClassSpec, Taint } from '#api/objects';
import type { Requirement } from '#engine/model';
import { put } from '#lib';
import type { NoteLevel, Path } from '../notes.ts';

/** Note on a converted field. */
interface Remark {
  readonly level: NoteLevel;
  readonly kind: 'NodePool' | 'EC2NodeClass';
  /** Path in the input. */
  readonly field: Path;
  /** Path in the NodePool or EC2NodeClass. */
  readonly at: Path;
  readonly text: string;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Fields of an EC2NodeClass that a group determines. */
type ClassFields = Partial<Mutable<EC2NodeClassSpec>>;

interface Disruption {
  consolidationPolicy: 'WhenEmpty' | 'WhenEmptyOrUnderutilized';
  consolidateAfter: string;
  budgets?: readonly Budget[];
}

export const REQUIREMENTS: Path = ['spec', 'template', 'spec', 'requirements'];
export const LABELS: Path = ['spec', 'template', 'metadata', 'labels'];
export const TAINTS: Path = ['spec', 'template', 'spec', 'taints'];
export const LIMITS: Path = ['spec', 'limits'];
export const DISRUPTION: Path = ['spec', 'disruption'];

/** Group whose fields are set while its description is read. */
export class NodeGroup {
  readonly name: string;
  /** Place in error messages: `cluster.yaml, document 1`. */
  readonly where: string;
  /** Path of this group in its document. */
  readonly path: Path;
  /** Requirements by key. A later requirement replaces an earlier one with the same key. */
  readonly requirements = new Map<string, Requirement>();
  readonly labels: Record<string, string> = {};
  readonly taints: Taint[] = [];
  startupTaints: readonly Taint[] = [];
  zones: readonly string[] = [];
  /** Numbers of nodes. Undefined if the description does not contain them. */
  size: { min?: { readonly nodes: number; readonly field: Path }; max?: number } = {};
  weight: number | undefined;
  terminationGracePeriod: string | undefined;
  /** Default, because groups do not replace nodes by age. */
  expireAfter = 'Never';
  /** Defaults of cluster-autoscaler. */
  disruption: Disruption = { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter: '10m' };
  readonly nodeClass: ClassFields = {};
  readonly remarks: Remark[] = [];

  constructor(name: string, where: string, path: Path) {
    this.name = name;
    this.where = where;
    this.path = path;
  }

  /**
   * Adds a note on the NodePool.
   *
   * @param field path below the group's path
   */
  onPool(level: NoteLevel, field: Path, text: string, at: Path = ['spec']): void {
    this.remarks.push({ level, kind: 'NodePool', field: [...this.path, ...field], at, text });
  }

  /** Adds a note on the EC2NodeClass. */
  onClass(level: NoteLevel, field: Path, text: string, at: Path = ['spec']): void {
    this.remarks.push({ level, kind: 'EC2NodeClass', field: [...this.path, ...field], at, text });
  }

  /** Removes notes about an assumed field of the EC2NodeClass when the field becomes known. */
  forgetClass(at: Path): void {
    const place = JSON.stringify(at);
    const kept = this.remarks.filter((each) => each.kind !== 'EC2NodeClass' || JSON.stringify(each.at) !== place);
    this.remarks.splice(0, this.remarks.length, ...kept);
  }

  /** Requires one of the values for a label. */
  require(key: string, values: readonly string[]): void {
    if (values.length > 0) this.requirements.set(key, { key, operator: 'In', values: [...new Set(values)] });
  }

  /** Adds a bound for a numeric label. Lower and upper bound are separate requirements. */
  bound(key: string, operator: 'Gte' | 'Lte', value: number): void {
    this.requirements.set(`${key} ${operator}`, { key, operator, values: [String(value)] });
  }

  kubelet(settings: Readonly<Record<string, unknown>>): void {
    if (Object.keys(settings).length > 0) this.nodeClass.kubelet = { ...this.nodeClass.kubelet, ...settings };
  }

  tag(key: string, value: string): void {
    const tags: Record<string, string> = { ...this.nodeClass.tags };
    put(tags, key, value);
    this.nodeClass.tags = tags;
  }
}
