const DEFAULTS = { volume: 70, theme: 'light', columns: 3 };

/** A setting of the user, else the default one. A setting may be zero or empty. */
export function setting(user, name) {
  return user[name] || DEFAULTS[name];
}

/** The width of a column in a window. */
export function columnWidth(user, width) {
  const columns = setting(user, 'columns');
  return columns === 0 ? width : (width - (columns - 1) * 8) / columns;
}
