//! Two-dimensional convolutions as sparse matrices; each output pixel is one row.

use super::homomorphic::MAX_LENGTH;
use super::matrix::{Matrix, MatrixBuilder, MatrixError};
use thiserror::Error;

/// Extent of an image or a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
}

/// Shape of a convolution. Images are flattened with channels last: pixel (y, x), channel c is element (y · width + x) · channels + c.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Convolution {
    pub image: Extent,
    pub channels: usize,
    pub filters: usize,
    /// Extent of a filter in pixels.
    pub kernel: Extent,
    /// Pixels between neighboring kernel positions, in both dimensions.
    pub stride: usize,
    /// Zero pixels around the image.
    pub padding: usize,
}

/// Why a shape is not a convolution.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ConvolutionError {
    #[error("a convolution with {what} = {value}; it must be from 1 to {max}")]
    Size { what: &'static str, value: usize, max: usize },
    #[error(
        "a kernel of {} x {} does not fit an image of {} x {} with {padding} pixels of padding; use a smaller kernel or more padding",
        .kernel.height, .kernel.width, .image.height, .image.width
    )]
    Kernel { kernel: Extent, image: Extent, padding: usize },
    #[error(
        "a convolution of {expected} weights (filters x height x width x channels) was given {found}; correct the kernel's shape"
    )]
    Weights { expected: usize, found: usize },
    #[error("a convolution of {height} x {width} x {filters} results; a vector has at most {MAX_LENGTH} elements")]
    Results { height: usize, width: usize, filters: usize },
    #[error(transparent)]
    Matrix(#[from] MatrixError),
}

const MAX_SIZE: usize = 1 << 16;

impl Convolution {
    fn check(&self) -> Result<(), ConvolutionError> {
        let sizes = [
            ("height", self.image.height),
            ("width", self.image.width),
            ("channels", self.channels),
            ("filters", self.filters),
            ("kernel height", self.kernel.height),
            ("kernel width", self.kernel.width),
            ("stride", self.stride),
            ("padding + 1", self.padding.saturating_add(1)),
        ];
        for (what, value) in sizes {
            if !(1..=MAX_SIZE).contains(&value) {
                return Err(ConvolutionError::Size { what, value, max: MAX_SIZE });
            }
        }
        let fits = |image: usize, kernel: usize| kernel <= image + 2 * self.padding;
        if !fits(self.image.height, self.kernel.height) || !fits(self.image.width, self.kernel.width) {
            let Self { kernel, image, padding, .. } = *self;
            return Err(ConvolutionError::Kernel { kernel, image, padding });
        }
        Ok(())
    }

    /// The result's extent.
    ///
    /// # Errors
    /// [`ConvolutionError::Size`], [`ConvolutionError::Kernel`], [`ConvolutionError::Results`].
    pub fn output(&self) -> Result<Extent, ConvolutionError> {
        self.check()?;
        let positions = |image: usize, kernel: usize| (image + 2 * self.padding - kernel) / self.stride + 1;
        let height = positions(self.image.height, self.kernel.height);
        let width = positions(self.image.width, self.kernel.width);
        let filters = self.filters;
        match (height * width).checked_mul(filters) {
            Some(results) if results <= MAX_LENGTH => Ok(Extent { height, width }),
            _ => Err(ConvolutionError::Results { height, width, filters }),
        }
    }

    /// The matrix from the flattened image to the flattened result. `weights` is filters × kernel height × kernel width × channels,
    /// flattened. As in neural networks, the kernel is not mirrored.
    ///
    /// # Errors
    /// [`ConvolutionError`].
    pub fn matrix(&self, weights: &[i64]) -> Result<Matrix, ConvolutionError> {
        let output = self.output()?;
        let taps = self.kernel.height * self.kernel.width * self.channels;
        let expected = taps.saturating_mul(self.filters);
        if weights.len() != expected {
            return Err(ConvolutionError::Weights { expected, found: weights.len() });
        }
        let mut builder = MatrixBuilder::new(self.image.height * self.image.width * self.channels)?;
        // The image pixel at `offset` from the kernel's position; `None` in the padding.
        let under = |position: usize, offset: usize, extent: usize| {
            (position * self.stride + offset).checked_sub(self.padding).filter(|&pixel| pixel < extent)
        };
        for (y, x) in (0..output.height).flat_map(|y| (0..output.width).map(move |x| (y, x))) {
            for filter in weights.chunks_exact(taps) {
                let rows = (0..self.kernel.height).filter_map(|dy| Some((dy, under(y, dy, self.image.height)?)));
                let pixels = rows.flat_map(|(dy, row)| {
                    let columns =
                        (0..self.kernel.width).filter_map(move |dx| Some((dx, under(x, dx, self.image.width)?)));
                    columns.map(move |(dx, column)| (dy * self.kernel.width + dx, row * self.image.width + column))
                });
                let terms = pixels.flat_map(|(tap, pixel)| {
                    (0..self.channels).map(move |c| (pixel * self.channels + c, filter[tap * self.channels + c]))
                });
                builder.push_row(terms.filter(|&(_, weight)| weight != 0))?;
            }
        }
        Ok(builder.finish())
    }

    /// Upper bound of the bytes that [`Self::matrix`] allocates.
    ///
    /// # Errors
    /// [`ConvolutionError`] if the shape is invalid.
    pub fn bytes(&self, weights: &[i64]) -> Result<u64, ConvolutionError> {
        let output = self.output()?;
        let terms = weights.iter().filter(|&&weight| weight != 0).count();
        Ok((8 * output.height * output.width) as u64 * (terms + self.filters) as u64)
    }
}

#[cfg(test)]
mod tests {
    //! Compares the matrix with the textbook sum for random shapes; checks that invalid shapes are rejected.

    use super::*;
    use proptest::prelude::*;

    /// Σ over dy, dx, c, with zeros outside the image.
    fn textbook(shape: &Convolution, weights: &[i64], image: &[i64]) -> Vec<i64> {
        let (h, w, c, p) = (shape.image.height as i64, shape.image.width as i64, shape.channels, shape.padding as i64);
        let output = shape.output().unwrap();
        let mut result = Vec::new();
        for y in 0..output.height as i64 {
            for x in 0..output.width as i64 {
                for f in 0..shape.filters {
                    let mut sum = 0;
                    for dy in 0..shape.kernel.height {
                        for dx in 0..shape.kernel.width {
                            let row = y * shape.stride as i64 + dy as i64 - p;
                            let column = x * shape.stride as i64 + dx as i64 - p;
                            if (0..h).contains(&row) && (0..w).contains(&column) {
                                for channel in 0..c {
                                    let tap = ((f * shape.kernel.height + dy) * shape.kernel.width + dx) * c + channel;
                                    sum += weights[tap] * image[(row * w + column) as usize * c + channel];
                                }
                            }
                        }
                    }
                    result.push(sum);
                }
            }
        }
        result
    }

    proptest! {
        #[test]
        fn equals_the_textbook_sum(
            (height, width, channels, filters) in (1usize..7, 1usize..7, 1usize..4, 1usize..4),
            (kernel_height, kernel_width, stride, padding) in (1usize..5, 1usize..5, 1usize..4, 0usize..3),
            seed in any::<u64>(),
        ) {
            let (image, kernel) = (Extent { height, width }, Extent { height: kernel_height, width: kernel_width });
            let shape = Convolution { image, channels, filters, kernel, stride, padding };
            let draw = |count: usize, salt: u64| -> Vec<i64> {
                (0..count as u64).map(|i| ((seed ^ salt).wrapping_mul(2 * i + 1) >> 60) as i64 - 8).collect()
            };
            let weights = draw(filters * kernel_height * kernel_width * channels, 5);
            match shape.matrix(&weights) {
                Ok(matrix) => {
                    let pixels = draw(height * width * channels, 9);
                    let found: Vec<i64> = (0..matrix.rows())
                        .map(|row| matrix.row(row).map(|(column, weight)| pixels[column] * i64::from(weight)).sum())
                        .collect();
                    prop_assert_eq!(found, textbook(&shape, &weights, &pixels));
                }
                Err(error) => {
                    prop_assert!(kernel_height > height + 2 * padding || kernel_width > width + 2 * padding);
                    prop_assert!(error.to_string().contains("use a smaller kernel"));
                }
            }
        }
    }

    #[test]
    fn invalid_shapes_are_rejected() {
        let image = Extent { height: 4, width: 4 };
        let shape = Convolution {
            image,
            channels: 1,
            filters: 2,
            kernel: Extent { height: 3, width: 3 },
            stride: 1,
            padding: 0,
        };
        assert!(shape.matrix(&[1; 17]).unwrap_err().to_string().contains("18 weights"));
        let none = Convolution { stride: 0, ..shape }.matrix(&[1; 18]).unwrap_err().to_string();
        assert!(none.contains("stride = 0"), "{none}");
        assert!(Convolution { padding: usize::MAX, ..shape }.output().is_err());
    }
}
