//! Arithmetic in GF(256) with the polynomial of RFC 6330 (section 5.7): x^8 + x^4 + x^3 + x^2 + 1.

/// Returns the product of two elements of the field.
pub(super) const fn multiply(a: u8, b: u8) -> u8 {
    let (mut a, mut b, mut product) = (a, b, 0);
    while b != 0 {
        if b & 1 == 1 {
            product ^= a;
        }
        let high = a & 0x80;
        a <<= 1;
        if high != 0 {
            a ^= 0x1d;
        }
        b >>= 1;
    }
    product
}

/// Inverse of each element of the field. The element 0 has no inverse, so its entry is 0.
const INVERSE: [u8; 256] = {
    let mut table = [0; 256];
    let mut power = 1;
    // Each element except 0 is a power of 2, and 2^255 is 1. So 2^i and 2^(255-i) are inverse to each other.
    let mut powers = [0; 256];
    let mut i = 0;
    while i < 256 {
        powers[i] = power;
        power = multiply(power, 2);
        i += 1;
    }
    let mut i = 0;
    while i < 256 {
        table[powers[i] as usize] = powers[255 - i];
        i += 1;
    }
    table
};

/// Returns the inverse of an element, which must not be 0.
pub(crate) const fn inverse(a: u8) -> u8 {
    INVERSE[a as usize]
}

/// Two tables for each factor.
/// The first table has the products with 0 to 15, and the second table has the products with 0, 16, 32, up to 240.
/// The product of the factor and a byte is the sum of two entries.
/// The low half of the byte selects the first entry, and the high half selects the second entry.
pub(super) static HALVES: [[u8; 32]; 256] = {
    let mut table = [[0; 32]; 256];
    let mut factor = 0;
    while factor < 256 {
        let mut half = 0;
        while half < 16 {
            table[factor][half] = multiply(factor as u8, half as u8);
            table[factor][16 + half] = multiply(factor as u8, (half << 4) as u8);
            half += 1;
        }
        factor += 1;
    }
    table
};

/// Matrix over GF(2) for each factor, which multiplies a byte by this factor.
/// The matrix has the format of the instruction GF2P8AFFINEQB.
/// In this format, bit i of a product is the parity of (byte 7 - i of the matrix) AND (the byte).
#[cfg(target_arch = "x86_64")]
pub(super) static MATRICES: [u64; 256] = {
    let mut table = [0; 256];
    let mut factor = 0;
    while factor < 256 {
        let mut column = 0;
        while column < 8 {
            let product = multiply(factor as u8, 1 << column);
            let mut row = 0;
            while row < 8 {
                let bit = (product >> row) & 1;
                table[factor] |= (bit as u64) << (8 * (7 - row) + column);
                row += 1;
            }
            column += 1;
        }
        factor += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_is_that_of_rfc_6330() {
        // The first powers of 2 are listed in RFC 6330, section 5.7.3. 2^255 is 1.
        let mut power = 1;
        let mut powers = Vec::new();
        for _ in 0..255 {
            powers.push(power);
            power = multiply(power, 2);
        }
        assert_eq!(power, 1);
        assert_eq!(
            powers[..12],
            [1, 2, 4, 8, 16, 32, 64, 128, 29, 58, 116, 232]
        );
        powers.sort_unstable();
        assert!(powers.iter().copied().eq(1..=255));
    }

    #[test]
    fn every_element_but_0_has_its_inverse() {
        assert!((1..=255).all(|a| multiply(a, inverse(a)) == 1));
    }

    #[test]
    fn tables_hold_the_products() {
        // Miri interprets the code slowly, so it tests fewer factors.
        for factor in (0..=255_u8).step_by(if cfg!(miri) { 85 } else { 1 }) {
            let halves = &HALVES[usize::from(factor)];
            for other in 0..=255_u8 {
                let product = multiply(factor, other);
                assert_eq!(product, multiply(other, factor));
                let (low, high) = (usize::from(other & 15), usize::from(other >> 4));
                assert_eq!(halves[low] ^ halves[16 + high], product);
                #[cfg(target_arch = "x86_64")]
                {
                    let rows = MATRICES[usize::from(factor)].to_be_bytes();
                    let bits = (0..8).map(|i| ((rows[i] & other).count_ones() as u8 & 1) << i);
                    assert_eq!(bits.sum::<u8>(), product);
                }
            }
        }
    }
}
