/** One page of a list. Pages count from 1; a page past the last one is an error, and an empty list has one empty page. */
export function pageOf(items, page, size) {
  const pages = Math.max(1, Math.ceil(items.length / size));
  if (page < 1 || page >= pages) throw new RangeError(`there is no page ${page}`);
  const first = (page - 1) * size;
  return {
    items: items.slice(first, first + size),
    page,
    pages,
    previous: page === 1 ? null : page - 1,
    next: page === pages ? null : page + 1,
  };
}
