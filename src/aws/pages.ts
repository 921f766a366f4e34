/** Bounds how much of a paged answer is read. */

/** Far more than an account of any size fills: a page has up to a thousand items. */
const MOST_PAGES = 500;

/** The token that requests the page after this one. */
function nextToken(page: unknown): string | undefined {
  const { NextToken, Marker } = page as { readonly NextToken?: string; readonly Marker?: string };
  return NextToken || Marker || undefined;
}

/**
 * The pages of an answer, as long as there is an end to them.
 * @param call for the error, such as `DescribeImages`
 * @throws Error when there are more pages than can be
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
      throw new Error(`AWS answers ${call} with more than ${most} pages, which has to be an endless list`);
    const token = nextToken(page);
    if (token !== undefined && token === before)
      throw new Error(`AWS answers ${call} with the same page again, which has to be an endless list`);
    before = token;
    yield page;
  }
}
