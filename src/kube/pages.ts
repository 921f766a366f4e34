/** Bounds how many pages a list may have. */
import type { Kind } from '../api/kinds.ts';
import type { KubeList, KubeObject } from '../api/kubernetes.ts';

/** Of one kind. */
const MOST_OBJECTS = 1_000_000;
/** More than a million objects need, and more than the 8 GiB of an etcd need in pages of 2 MiB. */
const MOST_PAGES = 5_000;

interface PageCount {
  /** The token of the next page, if there is one. @throws Error when there are more pages than there can be */
  next(page: KubeList<KubeObject>): string | undefined;
}

/** One for each list. */
export function pageCount(kind: Kind, most = MOST_PAGES): PageCount {
  let count = 0;
  let objects = 0;
  let last: string | undefined;
  /** How each page begins: no object is on two. */
  const beginnings = new Set<string>();
  return {
    next({ metadata, items }) {
      const token = metadata.continue || undefined;
      count += 1;
      objects += items.length;
      if (token === undefined) return undefined;
      const { namespace = '', name } = items[0]?.metadata ?? {};
      const beginning = `${namespace}/${name ?? count}`;
      if (token === last || beginnings.has(beginning))
        throw new Error(`the API server lists ${kind.plural} without end: the same page comes again`);
      if (count >= most) throw new Error(`the API server lists ${kind.plural} without end: more than ${most} pages`);
      if (objects >= MOST_OBJECTS)
        throw new Error(`the API server lists ${kind.plural} without end: more than ${MOST_OBJECTS} objects`);
      beginnings.add(beginning);
      last = token;
      return token;
    },
  };
}
