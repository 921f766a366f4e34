/** A group of equal nodes as other tools describe it, on its way to a NodePool and an EC2NodeClass. */
import type { EC2NodeClassSpec } from '../../../api/ec2-nodeclass.ts';
import type { Taint } from '../../../api/kubernetes.ts';
import type { Budget } from '../../../api/nodepool.ts';
import type { Requirement } from '../../../engine/model.ts';
import { put } from '../../../lib/own.ts';
import type { NoteLevel, Path } from '../notes.ts';

/** A note on what a group became. */
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

/** What of an EC2NodeClass a group decides. */
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

/** Fills up while its description is read. */
export class NodeGroup {
  readonly name: string;
  /** `cluster.yaml, document 1`. */
  readonly where: string;
  /** Path of the group in its document. */
  readonly path: Path;
  /** By key: a later requirement takes the place of an earlier one. */
  readonly requirements = new Map<string, Requirement>();
  readonly labels: Record<string, string> = {};
  readonly taints: Taint[] = [];
  startupTaints: readonly Taint[] = [];
  zones: readonly string[] = [];
  /** Nodes; undefined when the description leaves it open. */
  size: { min?: { readonly nodes: number; readonly field: Path }; max?: number } = {};
  weight: number | undefined;
  terminationGracePeriod: string | undefined;
  /** Groups do not replace nodes by their age. */
  expireAfter = 'Never';
  /** The defaults of cluster-autoscaler. */
  disruption: Disruption = { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter: '10m' };
  readonly nodeClass: ClassFields = {};
  readonly remarks: Remark[] = [];

  constructor(name: string, where: string, path: Path) {
    this.name = name;
    this.where = where;
    this.path = path;
  }

  /** A note on the NodePool. @param field below the group's own path */
  onPool(level: NoteLevel, field: Path, text: string, at: Path = ['spec']): void {
    this.remarks.push({ level, kind: 'NodePool', field: [...this.path, ...field], at, text });
  }

  /** A note on the EC2NodeClass. */
  onClass(level: NoteLevel, field: Path, text: string, at: Path = ['spec']): void {
    this.remarks.push({ level, kind: 'EC2NodeClass', field: [...this.path, ...field], at, text });
  }

  /** Takes back what was assumed of a field of the EC2NodeClass: it is known now. */
  forgetClass(at: Path): void {
    const place = JSON.stringify(at);
    const kept = this.remarks.filter((each) => each.kind !== 'EC2NodeClass' || JSON.stringify(each.at) !== place);
    this.remarks.splice(0, this.remarks.length, ...kept);
  }

  /** Values of a label, of which a node must have one. */
  require(key: string, values: readonly string[]): void {
    if (values.length > 0) this.requirements.set(key, { key, operator: 'In', values: [...new Set(values)] });
  }

  /** A bound of a number that a label holds; of both bounds, each has its own requirement. */
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
