/** The path of a page as crumbs {label, href}, shortened in the middle when there are more than `most`. */
export function breadcrumbs(path, most = 4) {
  const parts = path.split('/').filter((part) => part !== '');
  const crumbs = parts.map((part, i) => ({ label: part, href: '/' + parts.slice(0, i).join('/') }));
  if (crumbs.length <= most) return crumbs;
  const tail = crumbs.slice(crumbs.length - most + 2);
  return [crumbs[0], { label: '…', href: null }, ...tail];
}

/** The folder above, or null at the top. */
export function parent(path) {
  const cut = path.lastIndexOf('/');
  if (cut < 0 || path === '/') return null;
  return cut === 0 ? '/' : path.slice(0, cut);
}
