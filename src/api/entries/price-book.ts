export {
  type Discount,
  EMPTY_BOOK,
  instanceFamilyOf,
  LOWEST_PRICE_SHARE,
  MOST_BYTES,
  PRICE_BOOK_KIND,
  type PriceBook,
  type ReservedInstances,
  type SavingsPlan,
  type SavingsPlanRate,
} from '../price-book/price-book.ts';
export { entryName, readPriceBook } from '../price-book/read.ts';
