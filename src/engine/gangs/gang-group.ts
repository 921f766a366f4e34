/** Minimum and topology of a gang in the object that declares it, such as a PodGroup. */
export interface GangGroup {
  readonly minimum: number;
  /** Label that must have the same value on all nodes of the gang. */
  readonly topologyKey?: string;
}
