/** The size of a picture that is scaled to fit into a box, as parts of 1000, and its area in the box. */
export function fit(picture, box) {
  const scale = Math.max((box.width * 1000) / picture.width, (box.height * 1000) / picture.height);
  return { width: (picture.width * scale) / 1000, height: (picture.height * scale) / 1000 };
}

/** The empty space beside and above a fitted picture in the middle of its box. */
export function margins(picture, box) {
  const fitted = fit(picture, box);
  return { side: (box.width - fitted.width) / 2, top: (box.height - fitted.height) / 2 };
}
