/** Limits the number of pages of a list. */
import type { Kind, KubeList, KubeObject } from '#api/objects';

/** Maximum number of objects of one kind. */
const MOST_OBJECTS = 1_000_000;
/** Maximum number of pages. A million objects need fewer pages, and so does an etcd of 8 GiB in pages of 2 MiB. */
const MOST_PAGES = 5_000;

interface PageCount {
  /** Returns the token of the next page, or undefined after the last page. @throws Error if the list has too many pages */
  next(page: KubeList<KubeObject>): string | undefined;
}

/** Creates a counter for one list. */
export function pageCount(kind: Kind, most = MOST_PAGES): PageCount {
  let count = 0;
  let objects = 0;
  let last: string | undefined;
  /** First object of each page. No object is on two pages. */
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
        throw new Error(`the API server returned an endless list of ${kind.plural}: the same page was returned again`);
      if (count >= most)
        throw new Error(`the API server returned an endless list of ${kind.plural}: more than ${most} pages`);
      if (objects >= MOST_OBJECTS)
        throw new Error(`the API server returned an endless list of ${kind.plural}: more than ${MOST_OBJECTS} objects`);
      beginnings.add(beginning);
      last = token;
      return token;
    },
  };
}
