/** The order of versions of a kind. */

/** Sorts `v1` before `v1beta1` before `v1alpha1`, and `v2` before `v1`. */
export function byPriority(left: string, right: string): number {
  const rank = (version: string): readonly number[] => {
    const [, major, stage, minor] = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version) ?? [];
    return [stage === undefined ? 2 : stage === 'beta' ? 1 : 0, Number(major ?? 0), Number(minor ?? 0)];
  };
  const [a, b] = [rank(left), rank(right)];
  return (b[0] ?? 0) - (a[0] ?? 0) || (b[1] ?? 0) - (a[1] ?? 0) || (b[2] ?? 0) - (a[2] ?? 0);
}
