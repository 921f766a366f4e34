/**
 * Templates of the controllers of resized pods. Only the owners of such pods are read, because a watch of all ReplicaSets would
 * need much memory.
 */
import {
  apiVersionOf,
  controllerOf,
  JOB,
  type Kind,
  nodeNameOf,
  type OwnerReference,
  type Pod,
  REPLICA_SET,
  REPLICATION_CONTROLLER,
  STATEFUL_SET,
  uidOf,
  wasResized,
} from '#api/objects';
import { hasOtherSuccessor, isTerminal, type ResourceTemplate } from '#engine/model';

/** Controllers with a pod template. DaemonSets are missing, because their pods are not moved. */
const KINDS: readonly Kind[] = [REPLICA_SET, STATEFUL_SET, JOB, REPLICATION_CONTROLLER];

const kindOf = ({ apiVersion, kind }: OwnerReference): Kind | undefined =>
  KINDS.find((each) => each.kind === kind && apiVersionOf(each) === apiVersion);

/** Controller whose template is needed. */
export interface TemplateOwner {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

interface Entry {
  readonly owner: TemplateOwner;
  /** Resized pods of the owner, by UID. */
  readonly pods: Map<string, Pod>;
  template?: ResourceTemplate | undefined;
}

export class PodTemplates {
  readonly #entries = new Map<string, Entry>();
  readonly #onChange: (nodeNames: ReadonlySet<string>) => void;
  #onNeeded: (uid: string) => void = () => undefined;

  /** @param onChange called with the nodes whose pods have another template now */
  constructor(onChange: (nodeNames: ReadonlySet<string>) => void) {
    this.#onChange = onChange;
  }

  /** Sets the receiver for UIDs of controllers whose template is needed. */
  bind(onNeeded: (uid: string) => void): void {
    this.#onNeeded = onNeeded;
    for (const uid of this.#entries.keys()) onNeeded(uid);
  }

  /** Returns the controller, or undefined if its template is not needed any more. */
  owner = (uid: string): TemplateOwner | undefined => this.#entries.get(uid)?.owner;

  /** Returns the template of the controller of a pod, or undefined if it is not known. */
  readonly of = (pod: Pod): ResourceTemplate | undefined => this.#entries.get(controllerOf(pod)?.uid ?? '')?.template;

  /** Receives every change of a pod. */
  podChanged(isGone: boolean, pod: Pod): void {
    const owner = controllerOf(pod);
    if (owner === undefined) return;
    const kind = !isGone && isResizedOnNode(pod) ? kindOf(owner) : undefined;
    if (kind === undefined) this.#remove(owner.uid, uidOf(pod));
    else this.#add({ kind, namespace: pod.metadata.namespace ?? 'default', name: owner.name, uid: owner.uid }, pod);
  }

  /** Sets the template of a controller. Undefined if the controller does not exist or must not be read. */
  put(uid: string, template: ResourceTemplate | undefined): void {
    const entry = this.#entries.get(uid);
    if (entry === undefined || JSON.stringify(entry.template) === JSON.stringify(template)) return;
    entry.template = template;
    this.#onChange(new Set([...entry.pods.values()].map(nodeNameOf)));
  }

  #add(owner: TemplateOwner, pod: Pod): void {
    let entry = this.#entries.get(owner.uid);
    if (entry === undefined) {
      entry = { owner, pods: new Map() };
      this.#entries.set(owner.uid, entry);
      this.#onNeeded(owner.uid);
    }
    entry.pods.set(uidOf(pod), pod);
  }

  #remove(uid: string, podUid: string): void {
    const entry = this.#entries.get(uid);
    if (entry?.pods.delete(podUid) && entry.pods.size === 0) this.#entries.delete(uid);
  }
}

const isResizedOnNode = (pod: Pod): boolean =>
  nodeNameOf(pod) !== '' && !isTerminal(pod) && wasResized(pod.metadata) === true && hasOtherSuccessor(pod);
