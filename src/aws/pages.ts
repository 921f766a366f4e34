/** Limits the number of pages of a response. */

/** Far more than any account has, because a page has up to a thousand items. */
const MOST_PAGES = 500;

/** Returns the token of the next page. */
function nextToken(page: unknown): string | undefined {
  const { NextToken, Marker } = page as { readonly NextToken?: string; readonly Marker?: string };
  return NextToken || Marker || undefined;
}

/**
 * Yields the pages of a response up to a limit.
 * @param call name in the error, such as `DescribeImages`
 * @throws Error if there are more pages than the limit
 */
export async function* pagesOf<Page>(
  call: string,
  pages: AsyncIterable<Page>,
  most = MOST_PAGES,
): AsyncGenerator<Page, void, undefined> {
  let count = 0;
  let before: string | undefined;
  for await (const page of pages) {
    count += 1;
    if (count > most)
      throw new Error(`AWS returned more than ${most} pages for ${call}, so the list is probably endless`);
    const token = nextToken(page);
    if (token !== undefined && token === before)
      throw new Error(`AWS returned the same page again for ${call}, so the list is probably endless`);
    before = token;
    yield page;
  }
}
